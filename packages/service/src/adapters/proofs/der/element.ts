/** One element of DER or BER: a tag, and what it holds. */
export interface Element {
  /** The identifier octet: class, constructed bit and number. */
  readonly tag: number
  readonly content: Buffer
  /** Tag, length and content, as they came. */
  readonly whole: Buffer
}

/** `ber` also takes indefinite lengths and lengths written longer than needed: Apple's and some states' CMS has them. */
export type Encoding = 'der' | 'ber'

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  constructedOctetString: 0x24,
  /** Explicit, or constructed implicit. */
  context: (number: number) => 0xa0 | number,
} as const

const CONSTRUCTED = 0x20
/** Lengths of more octets than this are of no object that fits a request. */
const MAX_LENGTH_OCTETS = 3
/** What is recorded nests 4 deep inside an indefinite length; the search for its end must not overflow the stack. */
const MAX_DEPTH = 32

/** The only element of these bytes; undefined where there is another, more, or none. */
export function readElement(bytes: Buffer, encoding: Encoding = 'der'): Element | undefined {
  const element = elementAt(bytes, { encoding, depth: 0 })
  return element?.whole.length === bytes.length ? element : undefined
}

/** The elements inside a constructed one; undefined where its tag is another or its content is not elements to the end. */
export function childrenOf(element: Element | undefined, tag: number, encoding: Encoding = 'der'): Element[] | undefined {
  if (element?.tag !== tag) return undefined
  const children: Element[] = []
  for (let rest = element.content; rest.length > 0; ) {
    const child = elementAt(rest, { encoding, depth: 0 })
    if (child === undefined) return undefined
    children.push(child)
    rest = rest.subarray(child.whole.length)
  }
  return children
}

/** Whether an element is this and nothing but this. */
export function isElement(element: Element | undefined, tag: number, content: Buffer): boolean {
  return element?.tag === tag && element.content.equals(content)
}

function elementAt(bytes: Buffer, { encoding, depth }: { encoding: Encoding; depth: number }): Element | undefined {
  const [tag, first] = bytes
  // Tag numbers from 31 on are written otherwise; nothing read here has one. Tag 0 ends an indefinite length.
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f || tag === 0 || depth > MAX_DEPTH) return undefined
  if (first === 0x80) return encoding === 'ber' && (tag & CONSTRUCTED) !== 0 ? indefinite(bytes, tag, depth) : undefined
  if (first < 0x80) return definite(bytes, { tag, from: 2, length: first })

  const octets = first & 0x7f
  const from = 2 + octets
  if (octets > MAX_LENGTH_OCTETS || bytes.length < from) return undefined
  const length = bytes.readUIntBE(2, octets)
  // One length has one spelling.
  const shortest = length >= 0x80 && bytes[2] !== 0
  if (encoding === 'der' && !shortest) return undefined
  return definite(bytes, { tag, from, length })
}

function definite(bytes: Buffer, { tag, from, length }: { tag: number; from: number; length: number }): Element | undefined {
  const to = from + length
  if (to > bytes.length) return undefined
  return { tag, content: bytes.subarray(from, to), whole: bytes.subarray(0, to) }
}

function indefinite(bytes: Buffer, tag: number, depth: number): Element | undefined {
  for (let at = 2; at + 1 < bytes.length; ) {
    if (bytes[at] === 0 && bytes[at + 1] === 0) return { tag, content: bytes.subarray(2, at), whole: bytes.subarray(0, at + 2) }
    const child = elementAt(bytes.subarray(at), { encoding: 'ber', depth: depth + 1 })
    if (child === undefined) return undefined
    at += child.whole.length
  }
  return undefined
}
