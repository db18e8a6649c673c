/** One DER element. */
export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.of(tag), lengthOf(content.length), content])
}

export const sequence = (...contents: readonly Uint8Array[]): Buffer => element(0x30, ...contents)
export const set = (...contents: readonly Uint8Array[]): Buffer => element(0x31, ...contents)
export const octets = (content: Uint8Array): Buffer => element(0x04, content)
export const bits = (content: Uint8Array, unused = 0): Buffer => element(0x03, Buffer.of(unused), content)
export const text = (content: string): Buffer => element(0x0c, Buffer.from(content))
export const yes = (): Buffer => element(0x01, Buffer.of(0xff))
export const explicit = (number: number, ...contents: readonly Uint8Array[]): Buffer => element(0xa0 | number, ...contents)

/** A natural number of up to 48 bits. */
export function integer(value: number): Buffer {
  const bytes = Buffer.alloc(7)
  bytes.writeUIntBE(value, 1, 6)
  let from = 0
  // As short as it can be without looking negative.
  while (from < 6 && bytes[from] === 0 && (bytes[from + 1] ?? 0) < 0x80) from++
  return element(0x02, bytes.subarray(from))
}

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return element(0x06, Buffer.from([first * 40 + second, ...rest].flatMap(base128)))
}

/** Two digits of the year until 2049, four from then on (RFC 5280). */
export function time(instantMs: number): Buffer {
  const digits = `${new Date(instantMs).toISOString().slice(0, 19).replaceAll(/\D/g, '')}Z`
  return digits < '2050' ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits))
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length)
  const octets = length < 0x1_00 ? 1 : length < 0x1_00_00 ? 2 : 3
  const bytes = Buffer.alloc(octets + 1, 0x80 | octets)
  bytes.writeUIntBE(length, 1, octets)
  return bytes
}

function base128(arc: number): number[] {
  const septets = [arc & 0x7f]
  for (let left = arc >>> 7; left > 0; left >>>= 7) septets.unshift((left & 0x7f) | 0x80)
  return septets
}
