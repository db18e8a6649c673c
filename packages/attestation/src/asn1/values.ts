import type { Instant } from '../environment.ts'
import { childrenOf, type Tlv, Malformed, TAG } from './tlv.ts'

// Each reader throws Malformed for an element of another type, and for a value that violates the
// encoding rules of the element.

export function readSequence(tlv: Tlv | undefined): Tlv[] {
  return childrenOf(tlv, TAG.sequence)
}

/** The order of a SET OF is not checked, because genuine phones and states do not sort it. */
export function readSetOf(tlv: Tlv | undefined): Tlv[] {
  return childrenOf(tlv, TAG.set)
}

/** Returns the element inside an EXPLICIT context tag. */
export function readExplicit(tlv: Tlv | undefined, number: number): Tlv {
  return onlyOf(childrenOf(tlv, TAG.context(number)))
}

/** Returns the only element of a list. Throws Malformed for any other number of elements. */
export function onlyOf<T>([only, ...more]: readonly T[]): T {
  if (only === undefined || more.length > 0) throw new Malformed('not one')
  return only
}

/** Reads an OCTET STRING. BER allows it to consist of several pieces. */
export function readOctets(tlv: Tlv | undefined): Buffer {
  if (tlv?.encoding !== 'ber' || tlv.tag !== TAG.constructedOctetString)
    return primitive(tlv, TAG.octetString)
  const pieces = childrenOf(tlv, TAG.constructedOctetString)
  if (pieces.length === 0) throw new Malformed('no pieces')
  return Buffer.concat(pieces.map((piece) => primitive(piece, TAG.octetString)))
}

export function readInteger(tlv: Tlv | undefined): bigint {
  return integerOf(primitive(tlv, TAG.integer))
}

/** Reads an INTEGER from 0 to 2^32 - 1 as a number. */
export function readSmall(tlv: Tlv | undefined): number {
  const value = readInteger(tlv)
  if (value < 0n || value > 0xff_ff_ff_ffn) throw new Malformed('not small')
  return Number(value)
}

export function readEnumerated(tlv: Tlv | undefined): bigint {
  return integerOf(primitive(tlv, TAG.enumerated))
}

function integerOf(content: Buffer): bigint {
  const [first, second] = content
  if (first === undefined) throw new Malformed('empty integer')
  // If the first nine bits are equal, the first byte is padding.
  if (
    second !== undefined &&
    ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))
  )
    throw new Malformed('padded integer')
  return BigInt.asIntN(content.length * 8, BigInt(`0x${content.toString('hex')}`))
}

/** Reads a BOOLEAN. DER encodes true as 0xff only; BER accepts any non-zero byte. */
export function readBoolean(tlv: Tlv | undefined): boolean {
  const value = booleanOctet(tlv)
  if (tlv?.encoding === 'der' && value !== 0 && value !== 0xff) throw new Malformed('boolean')
  return value !== 0
}

/**
 * Reads a BOOLEAN and accepts any non-zero byte as true, in DER too. Some phones write 0x01, and
 * Google's own parser reads it as true. Use it only for flags where true is the stricter or the
 * intended value.
 */
export function readLenientBoolean(tlv: Tlv | undefined): boolean {
  return booleanOctet(tlv) !== 0
}

function booleanOctet(tlv: Tlv | undefined): number {
  const [value, ...more] = primitive(tlv, TAG.boolean)
  if (value === undefined || more.length > 0) throw new Malformed('boolean')
  return value
}

export function readNull(tlv: Tlv | undefined): true {
  if (primitive(tlv, TAG.null).length > 0) throw new Malformed('null')
  return true
}

/** Reads a BIT STRING of whole bytes, such as a key or a signature. */
export function readBits(tlv: Tlv | undefined): Buffer {
  const content = primitive(tlv, TAG.bitString)
  if (content[0] !== 0) throw new Malformed('bit string')
  return content.subarray(1)
}

/** Reads the first eight flags of a BIT STRING. The byte before them is the unused-bit count. */
export function readFlags(tlv: Tlv | undefined): number {
  return primitive(tlv, TAG.bitString)[1] ?? 0
}

/** Reads an object identifier in dotted form. */
export function readOid(tlv: Tlv | undefined): string {
  const arcs: number[] = []
  let arc = 0
  let open = false
  for (const byte of primitive(tlv, TAG.oid)) {
    if (!open && byte === 0x80) throw new Malformed('padded identifier')
    if (arc >= 2 ** 24) throw new Malformed('identifier')
    arc = arc * 128 + (byte & 0x7f)
    open = (byte & 0x80) !== 0
    if (!open) {
      arcs.push(arc)
      arc = 0
    }
  }
  const [first] = arcs
  if (open || first === undefined) throw new Malformed('identifier')
  const root = Math.min(2, Math.floor(first / 40))
  return [root, first - root * 40, ...arcs.slice(1)].join('.')
}

const TIMES = new Map([
  [TAG.utcTime as number, /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?Z$/],
  [TAG.generalizedTime, /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)?Z$/],
])

/** Reads a UTCTime or GeneralizedTime. DER requires seconds; BER makes them optional. */
export function readTime(tlv: Tlv | undefined): Instant {
  const match = TIMES.get(tlv?.tag ?? 0)?.exec(tlv?.content.toString('latin1') ?? '')
  const [, year = '', month, day, hour, minute, second] = match ?? []
  if (second === undefined && (match === null || tlv?.encoding !== 'ber'))
    throw new Malformed('time')
  // RFC 5280: two-digit years from 50 on are 19xx.
  const century = year.length === 4 ? '' : Number(year) >= 50 ? '19' : '20'
  const written = `${century}${year}-${month}-${day}T${hour}:${minute}:${second ?? '00'}.000Z`
  const time = Date.parse(written)
  // Date.parse accepts 31 November as 1 December, and 24:00 as the start of the next day.
  if (Number.isNaN(time) || new Date(time).toISOString() !== written) throw new Malformed('time')
  return time
}

function primitive(tlv: Tlv | undefined, tag: number): Buffer {
  if (tlv?.tag !== tag) throw new Malformed('another tag')
  return tlv.content
}
