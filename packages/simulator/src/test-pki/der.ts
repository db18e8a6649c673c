import { Buffer } from 'node:buffer'

/** One element of DER: the octets of its tag as one number, its length, its parts. */
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

/** Nothing that is written here is negative; a leading one bit would make it so. */
function unsigned(value: bigint | number): Buffer {
  const bytes = bigEndian(value)
  return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes
}

/** Wraps parts in a context tag. Numbers from 31 on stand in septets of their own. */
export function explicit(number: number, ...parts: readonly Uint8Array[]): Buffer {
  const tag = number < 0x1f ? Buffer.of(0xa0 | number) : Buffer.of(0xbf, ...base128(number))
  return element(tag.readUIntBE(0, tag.length), ...parts)
}

/** An object identifier from dotted numbers. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return element(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(base128)))
}

function base128(value: number): number[] {
  const septets = [value & 0x7f]
  for (let left = value >>> 7; left > 0; left >>>= 7) septets.unshift((left & 0x7f) | 0x80)
  return septets
}

/** A time: two digits of the year until 2049, four after (RFC 5280). */
export function time(at: Date | number): Buffer {
  const digits = `${new Date(at).toISOString().replaceAll(/\D/g, '').slice(0, 14)}Z`
  return digits < '2050'
    ? element(0x17, Buffer.from(digits.slice(2)))
    : element(0x18, Buffer.from(digits))
}
