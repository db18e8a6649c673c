/** Bytes that are not DER, or not of the type asked for. It stays inside the readers: each turns it into a refusal. */
export class MalformedDer extends Error {}

/** One element of DER. Its bytes are views of what was read. */
export interface DerElement {
  readonly tagClass: 'universal' | 'application' | 'context' | 'private'
  readonly tag: number
  readonly constructed: boolean
  readonly content: Uint8Array
  /** With tag and length: what is hashed, signed or compared. */
  readonly encoded: Uint8Array
}

const CLASSES = ['universal', 'application', 'context', 'private'] as const
/** The largest object read here is a certificate; three length bytes reach 16 MiB. */
const MAX_LENGTH_BYTES = 3
/** Two bytes of tag number reach 16383; the highest that Android uses is 724. */
const MAX_TAG_BYTES = 2

/**
 * Reads exactly one element, with nothing after it. Strict on purpose: one value has one spelling, so that nobody
 * can write what another reader would see differently. Indefinite and padded lengths and padded tags are refused.
 *
 * @throws {MalformedDer}
 */
export function readDer(bytes: Uint8Array): DerElement {
  const [only, ...rest] = readAll(bytes)
  if (only === undefined || rest.length > 0) throw new MalformedDer('not one element')
  return only
}

function readAll(bytes: Uint8Array): DerElement[] {
  const elements: DerElement[] = []
  for (let at = 0; at < bytes.length; ) {
    const element = readAt(bytes, at)
    elements.push(element)
    at += element.encoded.length
  }
  return elements
}

function readAt(bytes: Uint8Array, start: number): DerElement {
  let at = start
  const next = (): number => {
    const byte = bytes[at++]
    if (byte === undefined) throw new MalformedDer('truncated')
    return byte
  }
  const first = next()
  const tag = (first & 0x1f) === 0x1f ? readLongTag(next) : first & 0x1f
  const length = readLength(next)
  if (at + length > bytes.length) throw new MalformedDer('truncated')
  return {
    tagClass: CLASSES[first >> 6] ?? 'private',
    tag,
    constructed: (first & 0x20) !== 0,
    content: bytes.subarray(at, at + length),
    encoded: bytes.subarray(start, at + length),
  }
}

function readLongTag(next: () => number): number {
  let tag = 0
  for (let count = 1; count <= MAX_TAG_BYTES; count++) {
    const byte = next()
    tag = (tag << 7) | (byte & 0x7f)
    if (tag === 0) throw new MalformedDer('padded tag')
    if ((byte & 0x80) === 0) {
      if (tag < 0x1f) throw new MalformedDer('padded tag')
      return tag
    }
  }
  throw new MalformedDer('tag too large')
}

function readLength(next: () => number): number {
  const first = next()
  if (first < 0x80) return first
  const count = first & 0x7f
  if (count === 0 || count > MAX_LENGTH_BYTES) throw new MalformedDer('length')
  let length = 0
  for (let read = 0; read < count; read++) length = (length << 8) | next()
  // The shortest form only: below 128 in one byte, and no leading zero.
  if (length < 0x80 || length < 1 << (8 * (count - 1))) throw new MalformedDer('padded length')
  return length
}

function universal(element: DerElement | undefined, tag: number, constructed: boolean): Uint8Array {
  if (element === undefined) throw new MalformedDer('missing')
  if (element.tagClass !== 'universal' || element.tag !== tag || element.constructed !== constructed) throw new MalformedDer(`not type ${tag}`)
  return element.content
}

export function readSequence(element: DerElement | undefined): DerElement[] {
  return readAll(universal(element, 16, true))
}

/** Real phones do not sort what they put in a SET OF, so its order is not judged. */
export function readSetOf(element: DerElement | undefined): DerElement[] {
  return readAll(universal(element, 17, true))
}

/** What an EXPLICIT context tag wraps. */
export function readExplicit(element: DerElement): DerElement {
  if (element.tagClass !== 'context' || !element.constructed) throw new MalformedDer('not an explicit tag')
  return readDer(element.content)
}

export function readOctets(element: DerElement | undefined): Uint8Array {
  return universal(element, 4, false)
}

export function readInteger(element: DerElement | undefined): bigint {
  return bigIntOf(universal(element, 2, false))
}

export function readEnumerated(element: DerElement | undefined): bigint {
  return bigIntOf(universal(element, 10, false))
}

function bigIntOf(content: Uint8Array): bigint {
  const [first, second] = content
  if (first === undefined) throw new MalformedDer('empty integer')
  // Nine equal leading bits say nothing: the byte is padding.
  if (second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))) throw new MalformedDer('padded integer')
  return BigInt.asIntN(content.length * 8, BigInt(`0x${Buffer.from(content).toString('hex')}`))
}

/** DER knows one true and one false; another byte is a phone that does not know what it says. */
export function readBoolean(element: DerElement | undefined): boolean {
  const [value, ...rest] = universal(element, 1, false)
  if (rest.length > 0 || (value !== 0 && value !== 0xff)) throw new MalformedDer('boolean')
  return value === 0xff
}

export function readNull(element: DerElement | undefined): true {
  if (universal(element, 5, false).length > 0) throw new MalformedDer('null')
  return true
}

/** A BIT STRING of whole bytes: keys and signatures. */
export function readBits(element: DerElement | undefined): Uint8Array {
  const content = universal(element, 3, false)
  if (content[0] !== 0) throw new MalformedDer('bit string')
  return content.subarray(1)
}

/** An object identifier as dotted numbers. */
export function readOid(element: DerElement | undefined): string {
  const arcs: number[] = []
  let arc = 0
  let open = false
  for (const byte of universal(element, 6, false)) {
    if (!open && byte === 0x80) throw new MalformedDer('padded identifier')
    if (arc >= 2 ** 24) throw new MalformedDer('identifier')
    arc = arc * 128 + (byte & 0x7f)
    open = (byte & 0x80) !== 0
    if (!open) {
      arcs.push(arc)
      arc = 0
    }
  }
  const [first] = arcs
  if (open || first === undefined) throw new MalformedDer('identifier')
  const root = Math.min(2, Math.floor(first / 40))
  return [root, first - root * 40, ...arcs.slice(1)].join('.')
}
