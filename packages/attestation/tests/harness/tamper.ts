/** The bytes with one bit of one byte flipped. */
export function flipped(bytes: Uint8Array, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ (1 << bit)
  return copy
}

/**
 * Tampers with the bytes in one of the ways that break parsers: flips, cuts, repetitions,
 * insertions, large lengths.
 */
export function tamper(bytes: Uint8Array, next: (below: number) => number): Buffer {
  const at = next(bytes.length + 1)
  const until = Math.min(bytes.length, at + 1 + next(40))
  const [head, middle, tail] = [
    bytes.subarray(0, at),
    bytes.subarray(at, until),
    bytes.subarray(until),
  ]
  switch (next(6)) {
    case 0:
      return Buffer.concat([head, tail])
    case 1:
      return Buffer.concat([head, middle, middle, tail])
    case 2:
      return Buffer.concat([
        head,
        Buffer.from(Array.from({ length: 1 + next(16) }, () => next(256))),
        middle,
        tail,
      ])
    case 3:
      return Buffer.from(head)
    case 4:
      return Buffer.concat([
        head,
        Buffer.of([0x00, 0x7f, 0x80, 0x84, 0xff, 0x9f, 0xbf, 0x30][next(8)] ?? 0),
        tail,
      ])
    default:
      return bytes.length === 0 ? Buffer.alloc(1) : flipped(bytes, next(bytes.length), next(8))
  }
}
