import { Buffer } from 'node:buffer'

/** The CBOR types of authenticators: integers, texts, bytes, lists, and maps in insertion order. */
export type CborValue =
  | number
  | string
  | Uint8Array
  | readonly CborValue[]
  | ReadonlyMap<string | number, CborValue>

/** Encodes CBOR in its shortest form. */
export function encodeCbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  if (value instanceof Map)
    return Buffer.concat([
      head(5, value.size),
      ...[...value].flat().map((part: CborValue) => encodeCbor(part)),
    ])
  const items = value as readonly CborValue[]
  return Buffer.concat([head(4, items.length), ...items.map(encodeCbor)])
}

function head(major: number, argument: number): Buffer {
  const type = major << 5
  if (argument < 24) return Buffer.of(type | argument)
  const octets = argument < 0x1_00 ? 1 : argument < 0x1_00_00 ? 2 : 4
  const bytes = Buffer.alloc(octets + 1, type | (octets === 1 ? 24 : octets === 2 ? 25 : 26))
  bytes.writeUIntBE(argument, 1, octets)
  return bytes
}
