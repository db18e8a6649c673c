/** Error correction codewords of a block of level M, for versions 1 to 20. */
const CORRECTION = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26]
/** Blocks of level M, for versions 1 to 20. */
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16]

/** A version of the standard, with its capacity at level M. */
export interface Version {
  /** 1 to 20. */
  readonly number: number
  /** Data and error correction codewords together. */
  readonly total: number
  readonly blocks: number
  /** Error correction codewords of each block. */
  readonly correction: number
}

/**
 * The smallest version that holds this many bytes.
 *
 * @throws RangeError when none does
 */
export function versionFor(length: number): Version {
  for (let number = 1; number <= BLOCKS.length; number += 1) {
    const blocks = BLOCKS[number - 1]!
    const correction = CORRECTION[number - 1]!
    const total = totalCodewords(number)
    // The mode and the length take 12 bits up to version 9 and 20 bits above it.
    if (length + (number < 10 ? 2 : 3) <= total - blocks * correction)
      return { number, total, blocks, correction }
  }
  throw new RangeError('QR code too long')
}

function totalCodewords(version: number): number {
  const alignments = Math.floor(version / 7) + 2
  let modules = (16 * version + 128) * version + 64
  if (version > 1) modules -= (25 * alignments - 10) * alignments - 55
  if (version > 6) modules -= 36
  return modules >> 3
}

/** The data in byte mode, padded, with error correction, interleaved. */
export function codewordsOf(bytes: Uint8Array, version: Version): number[] {
  const { number, total, blocks, correction } = version
  const data = pad(bytes, { number, capacity: total - blocks * correction })
  const divisor = divisorOf(correction)
  const shortBlocks = blocks - (total % blocks)
  const shortLength = Math.floor(total / blocks) - correction
  const content: number[][] = []
  const checks: number[][] = []
  for (let i = 0; i < blocks; i += 1) {
    const start = i * shortLength + Math.max(0, i - shortBlocks)
    const block = data.slice(start, start + shortLength + (i < shortBlocks ? 0 : 1))
    content.push(block)
    checks.push(remainderOf(block, divisor))
  }
  const codewords: number[] = []
  interleave(content, codewords)
  interleave(checks, codewords)
  return codewords
}

/** Prepends the mode (0100) and the length, and appends the terminator and the padding. */
function pad(bytes: Uint8Array, { number, capacity }: { number: number; capacity: number }) {
  const data: number[] = []
  // Everything after the mode is shifted by four bits.
  let high = 4
  const add = (byte: number) => {
    data.push((high << 4) | (byte >> 4))
    high = byte & 15
  }
  if (number > 9) add(bytes.length >> 8)
  add(bytes.length & 255)
  bytes.forEach(add)
  add(0)
  for (let i = 0; data.length < capacity; i += 1) data.push(i % 2 ? 0x11 : 0xec)
  return data
}

/** Appends the first byte of each block, then the second, and so on. The last block is longest. */
function interleave(blocks: readonly number[][], to: number[]): void {
  for (let i = 0; i < blocks.at(-1)!.length; i += 1)
    blocks.forEach((block) => i < block.length && to.push(block[i]!))
}

/** The generator polynomial of Reed-Solomon with this many check codewords. */
function divisorOf(degree: number): number[] {
  const divisor: number[] = Array(degree).fill(0)
  divisor[degree - 1] = 1
  let root = 1
  for (let i = 0; i < degree; i += 1) {
    for (let j = 0; j < degree; j += 1)
      divisor[j] = multiply(divisor[j]!, root) ^ (divisor[j + 1] ?? 0)
    root = multiply(root, 2)
  }
  return divisor
}

function remainderOf(data: readonly number[], divisor: readonly number[]): number[] {
  let rest: number[] = divisor.map(() => 0)
  data.forEach((byte) => {
    const factor = byte ^ rest[0]!
    rest = divisor.map((term, i) => (rest[i + 1] ?? 0) ^ multiply(term, factor))
  })
  return rest
}

/** The product in the field of 256 elements of the standard. */
function multiply(a: number, b: number): number {
  let product = 0
  for (let i = 7; i >= 0; i -= 1)
    product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >> i) & 1) * a)
  return product
}
