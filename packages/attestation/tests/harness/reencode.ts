/** An object in another encoding, with one change that two parsers could read differently. */
type Reencoded = { readonly what: string; readonly bytes: Buffer }

/**
 * An element and its child elements. Signatures are DER inside a BIT STRING, and no signature
 * covers their encoding.
 */
interface DerNode {
  readonly tag: Buffer
  readonly before: Buffer
  readonly children: readonly DerNode[]
  readonly after: Buffer
}

const BIT_STRING = 0x03
const CONSTRUCTED = 0x20

/**
 * Encodes DER with one change at a time: an element doubled, emptied, followed by another one, with
 * a longer length, or with an indefinite one.
 */
export function reencodeDer(bytes: Buffer): readonly Reencoded[] {
  const [root] = derNodes(bytes)
  if (root === undefined) throw new RangeError('no element')
  return derVariants(root)
}

function derVariants({ tag, before, children, after }: DerNode): Reencoded[] {
  const content = Buffer.concat([before, ...children.map(derBytes), after])
  const first = tag.readUInt8()
  const nothing = Buffer.of(0x05, 0x00)
  const own: Reencoded[] = [
    { what: 'doubled', bytes: Buffer.concat([tlv(tag, content), tlv(tag, content)]) },
    { what: 'followed', bytes: Buffer.concat([tlv(tag, content), nothing]) },
    { what: 'left out', bytes: Buffer.alloc(0) },
    {
      what: 'longer length',
      bytes: Buffer.concat([
        tag,
        Buffer.of(0x83, 0, content.length >> 8, content.length & 0xff),
        content,
      ]),
    },
    {
      what: 'indefinite length',
      bytes: Buffer.concat([
        Buffer.of(first | CONSTRUCTED),
        tag.subarray(1),
        Buffer.of(0x80),
        content,
        Buffer.alloc(2),
      ]),
    },
    ...(content.length === 0 ? [] : [{ what: 'emptied', bytes: tlv(tag, Buffer.alloc(0)) }]),
    ...(children.length < 2
      ? []
      : [
          {
            what: 'reversed',
            bytes: tlv(tag, Buffer.concat([before, ...children.toReversed().map(derBytes), after])),
          },
        ]),
    ...(first === 0x02
      ? [{ what: 'padded', bytes: tlv(tag, Buffer.concat([Buffer.of(0), content])) }]
      : []),
  ]
  const inside = children.flatMap((child, index) =>
    derVariants(child).map(({ what, bytes }) => ({
      what: `${tag.toString('hex')}.${index} ${what}`,
      bytes: tlv(
        tag,
        Buffer.concat([
          before,
          ...children.map((other, place) => (place === index ? bytes : derBytes(other))),
          after,
        ]),
      ),
    })),
  )
  return [...own, ...inside].filter((one) => !one.bytes.equals(tlv(tag, content)))
}

function derBytes({ tag, before, children, after }: DerNode): Buffer {
  return tlv(tag, Buffer.concat([before, ...children.map(derBytes), after]))
}

function derNodes(bytes: Buffer): DerNode[] {
  const nodes: DerNode[] = []
  for (let index = 0; index < bytes.length; ) {
    const first = bytes.readUInt8(index)
    let to = index + 1
    if ((first & 0x1f) === 0x1f) while (bytes.readUInt8(to++) >= 0x80);
    const tag = bytes.subarray(index, to)
    const length = bytes.readUInt8(to)
    const octets = length < 0x80 ? 0 : length & 0x7f
    const from = to + 1 + octets
    const content = bytes.subarray(
      from,
      from + (octets === 0 ? length : bytes.readUIntBE(to + 1, octets)),
    )
    const skip =
      (first & CONSTRUCTED) !== 0
        ? 0
        : first === BIT_STRING && content[1] === 0x30
          ? 1
          : content.length
    nodes.push({
      tag,
      before: content.subarray(0, skip),
      children: derNodes(content.subarray(skip)),
      after: Buffer.alloc(0),
    })
    index = from + content.length
  }
  return nodes
}

function tlv(tag: Buffer, content: Buffer): Buffer {
  const { length } = content
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([tag, Buffer.from(head), content])
}

/** A value and its child values. A map has them in pairs. */
interface CborNode {
  readonly major: number
  readonly argument: number
  readonly text: Buffer
  readonly children: readonly CborNode[]
}

const TEXT = 3
const ARRAY = 4
const MAP = 5
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/**
 * Encodes CBOR with one change at a time: a value with a longer head, of indefinite length, tagged,
 * in a list, or doubled; a number as a float; a text after a byte order mark; a map or list
 * reversed, emptied, or with a member twice.
 */
export function reencodeCbor(bytes: Buffer): readonly Reencoded[] {
  const [root, to] = cborNode(bytes, 0)
  if (to !== bytes.length) throw new RangeError('more than one value')
  return cborVariants(root)
}

function cborVariants(node: CborNode): Reencoded[] {
  const { major, argument, text, children } = node
  const step = major === MAP ? 2 : 1
  const items = Array.from({ length: children.length / step }, (_, index) =>
    children.slice(index * step, index * step + step),
  )
  const rebuilt = (list: readonly (readonly CborNode[])[]) =>
    cborBytes({ ...node, argument: list.length, children: list.flat() })
  const whole = cborBytes(node)
  const content = Buffer.concat([text, ...children.map(cborBytes)])
  const longer = Buffer.alloc(5, (major << 5) | 26)
  longer.writeUInt32BE(argument, 1)
  const pieces = major === 2 || major === 3 ? whole : content
  const own: Reencoded[] = [
    { what: 'longer head', bytes: Buffer.concat([longer, content]) },
    { what: 'doubled', bytes: Buffer.concat([whole, whole]) },
    { what: 'followed', bytes: Buffer.concat([whole, Buffer.of(0xf6)]) },
    { what: 'left out', bytes: Buffer.alloc(0) },
    { what: 'tagged', bytes: Buffer.concat([Buffer.of(0xc1), whole]) },
    { what: 'in a list', bytes: Buffer.concat([Buffer.of(0x81), whole]) },
    ...(major < 2
      ? [{ what: 'as a float', bytes: double(major === 0 ? argument : -1 - argument) }]
      : []),
    ...(major === TEXT
      ? [
          {
            what: 'after a byte order mark',
            bytes: cborBytes({
              ...node,
              argument: argument + BYTE_ORDER_MARK.length,
              text: Buffer.concat([BYTE_ORDER_MARK, text]),
            }),
          },
        ]
      : []),
    ...(major < 2
      ? []
      : [
          {
            what: 'indefinite length',
            bytes: Buffer.concat([Buffer.of((major << 5) | 31), pieces, Buffer.of(0xff)]),
          },
        ]),
    ...(items.length === 0 ? [] : [{ what: 'emptied', bytes: rebuilt([]) }]),
    ...(items.length < 2 ? [] : [{ what: 'reversed', bytes: rebuilt(items.toReversed()) }]),
    ...items.map((item, index) => ({
      what: `item ${index} twice`,
      bytes: rebuilt(items.toSpliced(index, 0, item)),
    })),
  ]
  const inside = children.flatMap((child, index) =>
    cborVariants(child).map(({ what, bytes }) => ({
      what: `${major}.${index} ${what}`,
      bytes: Buffer.concat([
        head(major, argument),
        text,
        ...children.map((other, place) => (place === index ? bytes : cborBytes(other))),
      ]),
    })),
  )
  return [...own, ...inside].filter((one) => !one.bytes.equals(whole))
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(9, 0xfb)
  bytes.writeDoubleBE(value, 1)
  return bytes
}

function cborBytes({ major, argument, text, children }: CborNode): Buffer {
  return Buffer.concat([head(major, argument), text, ...children.map(cborBytes)])
}

function cborNode(bytes: Buffer, from: number): readonly [node: CborNode, to: number] {
  const first = bytes.readUInt8(from)
  const [major, short] = [first >> 5, first & 0x1f]
  const octets = short < 24 ? 0 : 2 ** (short - 24)
  const argument = octets === 0 ? short : bytes.readUIntBE(from + 1, octets)
  let at = from + 1 + octets
  const length = major === 2 || major === 3 ? argument : 0
  const text = bytes.subarray(at, at + length)
  at += length
  const children: CborNode[] = []
  for (let left = major === ARRAY ? argument : major === MAP ? argument * 2 : 0; left > 0; left--) {
    const [child, to] = cborNode(bytes, at)
    children.push(child)
    at = to
  }
  return [{ major, argument, text, children }, at]
}

function head(major: number, argument: number): Buffer {
  const type = major << 5
  if (argument < 24) return Buffer.of(type | argument)
  return argument < 0x100
    ? Buffer.of(type | 24, argument)
    : Buffer.of(type | 25, argument >> 8, argument & 0xff)
}
