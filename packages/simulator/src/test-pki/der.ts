import { Buffer } from 'node:buffer'

/** Encodes an element. The tag is given as one number. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([bigEndian(tag), lengthOf(content.length), content])
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length)
  const octets = bigEndian(length)
  return Buffer.concat([Buffer.of(0x80 | octets.length), octets])
}

function bigEndian(value: bigint | number): Buffer {
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => element(0x30, ...parts)
export const setOf = (...parts: readonly Uint8Array[]): Buffer => element(0x31, ...parts)
export const octets = (bytes: Uint8Array | string): Buffer =>
  element(0x04, Buffer.from(bytes as Uint8Array))
export const boolean = (value: boolean): Buffer => element(0x01, Buffer.of(value ? 0xff : 0))
export const nothing = (): Buffer => element(0x05)
export const bits = (bytes: Uint8Array, unused = 0): Buffer =>
  element(0x03, Buffer.of(unused), bytes)
export const utf8 = (text: string): Buffer => element(0x0c, Buffer.from(text, 'utf8'))
export const printable = (text: string): Buffer => element(0x13, Buffer.from(text, 'latin1'))
export const integer = (value: bigint | number): Buffer => element(0x02, unsigned(value))
export const enumerated = (value: bigint | number): Buffer => element(0x0a, unsigned(value))

/** All values are non-negative, so a leading 1 bit needs a zero byte before it. */
function unsigned(value: bigint | number): Buffer {
  const bytes = bigEndian(value)
  return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes
}

/** Wraps elements in an explicit context tag. Numbers from 31 on use the long form. */
export function explicit(number: number, ...parts: readonly Uint8Array[]): Buffer {
  const tag = number < 0x1f ? Buffer.of(0xa0 | number) : Buffer.of(0xbf, ...base128(number))
  return element(tag.readUIntBE(0, tag.length), ...parts)
}

/** Encodes an object identifier in dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return element(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(base128)))
}

function base128(value: number): number[] {
  const septets = [value & 0x7f]
  for (let left = value >>> 7; left > 0; left >>>= 7) septets.unshift((left & 0x7f) | 0x80)
  return septets
}

/** Encodes a time: UTCTime until 2049, GeneralizedTime after it (RFC 5280). */
export function time(at: Date | number): Buffer {
  const digits = `${new Date(at).toISOString().replaceAll(/\D/g, '').slice(0, 14)}Z`
  return digits < '2050'
    ? element(0x17, Buffer.from(digits.slice(2)))
    : element(0x18, Buffer.from(digits))
}
