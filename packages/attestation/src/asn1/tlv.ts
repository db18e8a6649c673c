/** Bytes that are not what a reader expects. It stays inside the readers: each turns it into a refusal. */
export class Malformed extends Error {}

/**
 * How freely an element may be written. `der`: one value has one spelling, so that nobody can write what another reader
 * would see differently. `file`: lengths may be longer than needed, as on chips (ISO/IEC 7816-4). `ber`: they may also be
 * left open, as in Apple's and some states' CMS.
 */
export type Encoding = 'der' | 'file' | 'ber'

/** One element: a tag, and what it holds. Its bytes are views of what was read. */
export interface Tlv {
  /** The identifier octets as one number: class, constructed bit and number. */
  readonly tag: number
  readonly content: Buffer
  /** Tag, length and content, as they came: what is hashed, signed or compared. */
  readonly whole: Buffer
  /** That of the elements inside, too. */
  readonly encoding: Encoding
}

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  constructedOctetString: 0x24,
  sequence: 0x30,
  set: 0x31,
  /** Explicit, or constructed implicit. Numbers from 31 on stand in septets of their own. */
  context: (number: number) =>
    number < 0x1f
      ? 0xa0 | number
      : number < 0x80
        ? 0xbf00 | number
        : 0xbf_80_00 | ((number >> 7) << 8) | (number & 0x7f),
} as const

const CONSTRUCTED = 0x20
/** Two septets of tag number reach 16383; the highest that Android uses is 724. */
const MAX_TAG_SEPTETS = 2
/** Three reach 16 MiB: no object that fits a request is longer. */
const MAX_LENGTH_OCTETS = 3
/** What is recorded nests 4 deep inside an open length; neither the search for its end nor a rewriting may overflow the stack. */
export const MAX_DEPTH = 32

/**
 * Reads exactly one tlv, with nothing after it.
 *
 * @throws {Malformed}
 */
export function readTlv(bytes: Uint8Array, encoding: Encoding = 'der'): Tlv {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const tlv = tlvAt(whole, { encoding, depth: 0 })
  if (tlv.whole.length !== whole.length) throw new Malformed('more than one element')
  return tlv
}

/** The elements inside one with this tag. */
export function childrenOf(tlv: Tlv | undefined, tag: number): Tlv[] {
  if (tlv?.tag !== tag) throw new Malformed('another tag')
  const children: Tlv[] = []
  for (let rest = tlv.content; rest.length > 0; ) {
    const child = tlvAt(rest, { encoding: tlv.encoding, depth: 0 })
    children.push(child)
    rest = rest.subarray(child.whole.length)
  }
  return children
}

export function isConstructed({ whole }: Tlv): boolean {
  return (whole.readUInt8() & CONSTRUCTED) !== 0
}

/** What a reader has read; undefined where the bytes are not what it expects. */
export function unlessMalformed<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (failure) {
    if (failure instanceof Malformed) return undefined
    throw failure
  }
}

function tlvAt(bytes: Buffer, { encoding, depth }: { encoding: Encoding; depth: number }): Tlv {
  if (depth > MAX_DEPTH) throw new Malformed('too deep')
  const [tag, lengthAt] = tagAt(bytes)
  const first = bytes[lengthAt]
  if (first === undefined) throw new Malformed('truncated')
  const octets = first < 0x80 ? 0 : first & 0x7f
  const from = lengthAt + 1 + octets
  if (first === 0x80) {
    if (encoding !== 'ber' || (bytes.readUInt8() & CONSTRUCTED) === 0)
      throw new Malformed('open length')
    const to = openEnd(bytes, { from, depth })
    return { tag, content: bytes.subarray(from, to), whole: bytes.subarray(0, to + 2), encoding }
  }
  if (octets > MAX_LENGTH_OCTETS || bytes.length < from) throw new Malformed('length')
  const length = octets === 0 ? first : bytes.readUIntBE(lengthAt + 1, octets)
  // The shortest form only: below 128 in one byte, and no leading zero.
  if (encoding === 'der' && octets > 0 && (length < 0x80 || bytes[lengthAt + 1] === 0))
    throw new Malformed('padded length')
  if (bytes.length < from + length) throw new Malformed('truncated')
  return {
    tag,
    content: bytes.subarray(from, from + length),
    whole: bytes.subarray(0, from + length),
    encoding,
  }
}

/** The tag, and where the length begins. */
function tagAt(bytes: Buffer): readonly [tag: number, lengthAt: number] {
  const [first] = bytes
  // Tag 0 ends an open length and is nothing else.
  if (first === undefined || first === 0) throw new Malformed('no tag')
  if ((first & 0x1f) !== 0x1f) return [first, 1]
  let tag = first
  for (let at = 1; at <= MAX_TAG_SEPTETS; at++) {
    const septet = bytes[at] ?? 0
    tag = tag * 0x100 + septet
    // The first septet must say something, and numbers below 31 have the short form.
    if (at === 1 && (septet === 0x80 || septet < 0x1f)) throw new Malformed('padded tag')
    if (septet < 0x80) return [tag, at + 1]
  }
  throw new Malformed('tag too large')
}

/** Where the mark that ends an open length begins. */
function openEnd(bytes: Buffer, { from, depth }: { from: number; depth: number }): number {
  let at = from
  while (bytes[at] !== 0 || bytes[at + 1] !== 0)
    at += tlvAt(bytes.subarray(at), { encoding: 'ber', depth: depth + 1 }).whole.length
  return at
}
