import { IS_FRESH, randomFor } from '../../../../tests/random.ts'

/** Copies the bytes with one bit flipped. */
export function flipBit(bytes: Buffer, bit: number): Buffer {
  const flipped = Buffer.from(bytes)
  flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
  return flipped
}

/**
 * The bits that a test flips one after another: one of each byte, or all of them with `--fresh`,
 * where a run may take minutes.
 */
export function bitsOf(bytes: Uint8Array): readonly number[] {
  if (IS_FRESH) return Array.from({ length: bytes.length * 8 }, (_, bit) => bit)
  const next = randomFor('bits to flip')
  return Array.from(bytes, (_, byte) => byte * 8 + next(8))
}
