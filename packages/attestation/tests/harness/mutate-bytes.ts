import { randomFor } from '../../../../tests/random.ts'

/** A sample to alter. */
export type Bytes = Buffer

/** Bytes that break parsers: ends of ranges, heads of CBOR and DER, indefinite lengths. */
const HEADS = [
  0x00, 0x01, 0x7f, 0x80, 0xff, 0x1b, 0x3b, 0x59, 0x5a, 0x5b, 0x5f, 0x78, 0x81, 0x9f, 0xa0, 0xa1,
  0xbb, 0xbf, 0xc2, 0xf6, 0xf9, 0xfb, 0x30, 0x31, 0x24, 0x04, 0x82, 0x84,
]
const MAX_INPUT_BYTES = 20_000

/** Returns altered copies of the samples, the same ones for the same seed. */
export function mutator(samples: readonly Bytes[]): () => Buffer {
  const below = randomFor('altered bytes')
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item
  const changes: readonly ((bytes: Buffer) => Buffer)[] = [
    (bytes) => splice(bytes, below(bytes.length + 1), 1, Buffer.of(below(256))),
    (bytes) => splice(bytes, below(bytes.length + 1), 1, Buffer.of(pick(HEADS))),
    (bytes) => splice(bytes, below(bytes.length + 1), 0, Buffer.of(pick(HEADS))),
    (bytes) => splice(bytes, below(bytes.length + 1), below(64), Buffer.alloc(0)),
    (bytes) => splice(bytes, below(bytes.length + 1), 0, slice(bytes)),
    (bytes) => splice(bytes, below(bytes.length + 1), below(64), slice(pick(samples))),
    (bytes) => splice(bytes, below(bytes.length + 1), 0, Buffer.alloc(below(4_000), pick(HEADS))),
    (bytes) => bytes.subarray(0, below(bytes.length + 1)),
    (bytes) => Buffer.from(Array.from({ length: below(bytes.length + 1) }, () => below(256))),
  ]
  const slice = (bytes: Buffer) => {
    const from = below(bytes.length + 1)
    return bytes.subarray(from, from + below(200))
  }
  return () => {
    let bytes = pick(samples)
    for (let left = 1 + below(4); left > 0; left--) bytes = pick(changes)(bytes)
    return Buffer.from(bytes.subarray(0, MAX_INPUT_BYTES))
  }
}

function splice(bytes: Buffer, at: number, remove: number, insert: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + remove)])
}
