/** Malformed input. Each public reader catches it and returns undefined or a rejection. */
export class Malformed extends Error {}

/**
 * The encoding rules that a reader enforces.
 *
 * - `der`: one value has one encoding, so two parsers cannot read two values from the same bytes.
 * - `file`: lengths may have padding, as on passport chips (ISO/IEC 7816-4).
 * - `ber`: lengths may also be indefinite, as in the CMS of Apple and of some states.
 */
export type Encoding = 'der' | 'file' | 'ber'

/** One element: tag, length and value. The buffers are views of the input. */
export interface Tlv {
  /** The identifier octets as one number: class, constructed bit and number. */
  readonly tag: number
  readonly content: Buffer
  /** Tag, length and content as received: the bytes that are hashed, signed or compared. */
  readonly whole: Buffer
  /** The encoding rules of this element and of its children. */
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
  /** An explicit or constructed implicit tag. Numbers from 31 on use the long form. */
  context: (number: number) =>
    number < 0x1f
      ? 0xa0 | number
      : number < 0x80
        ? 0xbf00 | number
        : 0xbf_80_00 | ((number >> 7) << 8) | (number & 0x7f),
} as const

const CONSTRUCTED = 0x20
/** Two septets encode tag numbers up to 16383. The highest one that Android uses is 724. */
const MAX_TAG_SEPTETS = 2
/** Three octets encode lengths up to 16 MiB. No object that fits a request is longer. */
const MAX_LENGTH_OCTETS = 3
/**
 * Recorded objects nest 4 levels inside an indefinite length. The limit protects the stack of the
 * two recursive functions: the search for the end of such a length, and `toDer`.
 */
export const MAX_DEPTH = 32

/**
 * Reads exactly one element.
 *
 * @throws {Malformed} if the bytes are not one element, or if bytes follow it
 */
export function readTlv(bytes: Uint8Array, encoding: Encoding = 'der'): Tlv {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const tlv = tlvAt(whole, { encoding, depth: 0 })
  if (tlv.whole.length !== whole.length) throw new Malformed('more than one element')
  return tlv
}

/**
 * Returns the children of an element with this tag.
 *
 * @throws {Malformed} if the element is absent, has another tag, or has malformed children
 */
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

/** Runs a reader. Returns undefined if it throws `Malformed`. */
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
      throw new Malformed('indefinite length')
    const to = endOfIndefinite(bytes, { from, depth })
    return { tag, content: bytes.subarray(from, to), whole: bytes.subarray(0, to + 2), encoding }
  }
  if (octets > MAX_LENGTH_OCTETS || bytes.length < from) throw new Malformed('length')
  const length = octets === 0 ? first : bytes.readUIntBE(lengthAt + 1, octets)
  // DER allows only the shortest form: lengths below 128 in one byte, and no leading zero.
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

/** Reads the tag, and returns it with the offset of the length. */
function tagAt(bytes: Buffer): readonly [tag: number, lengthAt: number] {
  const [first] = bytes
  // Tag 0 marks the end of an indefinite length. It is not an element.
  if (first === undefined || first === 0) throw new Malformed('no tag')
  if ((first & 0x1f) !== 0x1f) return [first, 1]
  let tag = first
  for (let index = 1; index <= MAX_TAG_SEPTETS; index++) {
    const septet = bytes[index] ?? 0
    tag = tag * 0x100 + septet
    // A leading zero septet is padding, and numbers below 31 must use the short form.
    if (index === 1 && (septet === 0x80 || septet < 0x1f)) throw new Malformed('padded tag')
    if (septet < 0x80) return [tag, index + 1]
  }
  throw new Malformed('tag too large')
}

/** Returns the offset of the two zero bytes that end an indefinite length. */
function endOfIndefinite(bytes: Buffer, { from, depth }: { from: number; depth: number }): number {
  let index = from
  while (bytes[index] !== 0 || bytes[index + 1] !== 0)
    index += tlvAt(bytes.subarray(index), { encoding: 'ber', depth: depth + 1 }).whole.length
  return index
}
