import type { Instant } from '../environment.ts'
import { childrenOf, type Tlv, Malformed, TAG } from './tlv.ts'

// All of these throw Malformed for an element of another type, or a value that is not spelled as its encoding demands.

export function readSequence(tlv: Tlv | undefined): Tlv[] {
  return childrenOf(tlv, TAG.sequence)
}

/** Neither real phones nor states sort what they put in a SET OF, so its order is not judged. */
export function readSetOf(tlv: Tlv | undefined): Tlv[] {
  return childrenOf(tlv, TAG.set)
}

/** What an EXPLICIT context tag wraps. */
export function readExplicit(tlv: Tlv | undefined, number: number): Tlv {
  return onlyOf(childrenOf(tlv, TAG.context(number)))
}

/** The one element of a list that may have no other. */
export function onlyOf<T>([only, ...more]: readonly T[]): T {
  if (only === undefined || more.length > 0) throw new Malformed('not one')
  return only
}

/** The bytes of an OCTET STRING, which BER may cut into pieces. */
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

/** A natural number that JavaScript's numbers hold. */
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
  // Nine equal leading bits say nothing: the byte is padding.
  if (
    second !== undefined &&
    ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))
  )
    throw new Malformed('padded integer')
  return BigInt.asIntN(content.length * 8, BigInt(`0x${content.toString('hex')}`))
}

/** A BOOLEAN. DER has one spelling of true, 0xff; BER takes any non-zero byte for true. */
export function readBoolean(tlv: Tlv | undefined): boolean {
  const value = booleanOctet(tlv)
  if (tlv?.encoding === 'der' && value !== 0 && value !== 0xff) throw new Malformed('boolean')
  return value !== 0
}

/**
 * A BOOLEAN of which any non-zero byte is true, in DER too. Some phones write 0x01, and Google's own
 * parser reads it as true. Only for flags where true is the stricter or the intended reading.
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

/** A BIT STRING of whole bytes: keys and signatures. */
export function readBits(tlv: Tlv | undefined): Buffer {
  const content = primitive(tlv, TAG.bitString)
  if (content[0] !== 0) throw new Malformed('bit string')
  return content.subarray(1)
}

/** The first eight bits of a BIT STRING of flags. The byte before them counts the unused bits of the last. */
export function readFlags(tlv: Tlv | undefined): number {
  return primitive(tlv, TAG.bitString)[1] ?? 0
}

/** An object identifier as dotted numbers. */
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

/** UTCTime or GeneralizedTime. DER has the seconds; BER may leave them out. */
export function readTime(tlv: Tlv | undefined): Instant {
  const parts = TIMES.get(tlv?.tag ?? 0)?.exec(tlv?.content.toString('latin1') ?? '')
  const [, year = '', month, day, hour, minute, second] = parts ?? []
  if (second === undefined && (parts === null || tlv?.encoding !== 'ber'))
    throw new Malformed('time')
  // RFC 5280: two digits from 50 on are of the last century.
  const century = year.length === 4 ? '' : Number(year) >= 50 ? '19' : '20'
  const written = `${century}${year}-${month}-${day}T${hour}:${minute}:${second ?? '00'}.000Z`
  const time = Date.parse(written)
  // Date takes 31 November for the first of December, and 24 o'clock for the start of the next day.
  if (Number.isNaN(time) || new Date(time).toISOString() !== written) throw new Malformed('time')
  return time
}

function primitive(tlv: Tlv | undefined, tag: number): Buffer {
  if (tlv?.tag !== tag) throw new Malformed('another tag')
  return tlv.content
}
