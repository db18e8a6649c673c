import { childrenOf, type Element, readElement, TAG } from '../der/element.ts'

/** The elements inside a constructed one, in BER; none where it is another element. Nothing that is read here may be empty. */
export function inside(element: Element | undefined, tag: number): readonly Element[] {
  return childrenOf(element, tag, 'ber') ?? []
}

/** The elements inside a SEQUENCE. */
export function sequence(element: Element | undefined): readonly Element[] {
  return inside(element, TAG.sequence)
}

/** The only element of these bytes, in BER. */
export function readBer(bytes: Buffer): Element | undefined {
  return readElement(bytes, 'ber')
}

/** The content of an OBJECT IDENTIFIER in hex, or an empty text: no identifier is empty. */
export function idOf(element: Element | undefined): string {
  return element?.tag === TAG.oid ? element.content.toString('hex') : ''
}

/** The bytes of an OCTET STRING, which BER may cut into pieces. */
export function octetsOf(element: Element | undefined): Buffer | undefined {
  if (element?.tag === TAG.octetString) return element.content
  const pieces = inside(element, TAG.constructedOctetString)
  if (pieces.length === 0 || pieces.some(({ tag }) => tag !== TAG.octetString)) return undefined
  return Buffer.concat(pieces.map(({ content }) => content))
}

/** A small natural number. */
export function numberOf(element: Element | undefined): number | undefined {
  const bytes = element?.tag === TAG.integer ? element.content : undefined
  // Five bytes would leave the exact integers of the readers below; nothing read here needs more than two.
  if (bytes === undefined || bytes.length === 0 || bytes.length > 4) return undefined
  const value = bytes.readIntBE(0, bytes.length)
  return value < 0 ? undefined : value
}

const UTC_TIME = 0x17
const GENERALIZED_TIME = 0x18

/** UTCTime or GeneralizedTime, in milliseconds since the epoch. */
export function timeOf(element: Element | undefined): number | undefined {
  const digits = /^(\d{10}|\d{12}|\d{14})Z$/.exec(element?.content.toString('latin1') ?? '')?.[1]
  if (digits === undefined) return undefined
  const full = element?.tag === UTC_TIME ? withCentury(digits) : element?.tag === GENERALIZED_TIME ? digits : ''
  const [, year, month, day, hour, minute, second = '00'] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?$/.exec(full) ?? []
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(time) ? undefined : time
}

/** RFC 5280: two digits from 50 on are of the last century. */
function withCentury(digits: string): string {
  return digits.length === 14 ? '' : `${Number(digits.slice(0, 2)) >= 50 ? '19' : '20'}${digits}`
}
