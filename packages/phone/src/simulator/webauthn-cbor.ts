import { Buffer } from 'node:buffer'

/** What an authenticator writes in CBOR. */
export type CborValue = number | string | Uint8Array | readonly CborValue[] | ReadonlyMap<string | number, CborValue>

/** Encodes in the shortest form. A map keeps the order of its entries. */
export function encodeCbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  if (value instanceof Map) return Buffer.concat([head(5, value.size), ...[...value].flat().map((one: CborValue) => encodeCbor(one))])
  const list = value as readonly CborValue[]
  return Buffer.concat([head(4, list.length), ...list.map((one) => encodeCbor(one))])
}

function head(major: number, argument: number): Buffer {
  const type = major << 5
  if (argument < 24) return Buffer.of(type | argument)
  if (argument < 0x100) return Buffer.of(type | 24, argument)
  if (argument < 0x1_0000) return Buffer.of(type | 25, argument >> 8, argument & 0xff)
  const bytes = Buffer.alloc(5, type | 26)
  bytes.writeUInt32BE(argument, 1)
  return bytes
}
