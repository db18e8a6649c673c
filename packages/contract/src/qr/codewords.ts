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
  for (const [index, blocks] of BLOCKS.entries()) {
    const number = index + 1
    const correction = CORRECTION[index]!
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
  const all = Array.from({ length: blocks }, (_, i) => {
    const start = i * shortLength + Math.max(0, i - shortBlocks)
    const block = data.slice(start, start + shortLength + (i < shortBlocks ? 0 : 1))
    return { block, check: remainderOf(block, divisor) }
  })
  return [
    ...interleave(all.map(({ block }) => block)),
    ...interleave(all.map(({ check }) => check)),
  ]
}

/** Prepends the mode (0100) and the length, and appends the terminator and the padding. */
function pad(bytes: Uint8Array, { number, capacity }: { number: number; capacity: number }) {
  const header = number < 10 ? [bytes.length] : [bytes.length >> 8, bytes.length & 255]
  const data: number[] = []
  // Everything after the mode is shifted by four bits.
  let high = 4
  for (const byte of [...header, ...bytes, 0]) {
    data.push((high << 4) | (byte >> 4))
    high = byte & 15
  }
  for (let i = 0; data.length < capacity; i += 1) data.push(i % 2 ? 0x11 : 0xec)
  return data
}

function interleave(blocks: readonly number[][]): number[] {
  const longest = blocks.at(-1)!.length
  return Array.from({ length: longest }, (_, i) =>
    blocks.flatMap((block) => block.slice(i, i + 1)),
  ).flat()
}

/** The generator polynomial of Reed-Solomon with this many check codewords. */
function divisorOf(degree: number): number[] {
  const divisor: number[] = [...Array(degree - 1).fill(0), 1]
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
  for (const byte of data) {
    const factor = byte ^ rest[0]!
    rest = divisor.map((term, i) => (rest[i + 1] ?? 0) ^ multiply(term, factor))
  }
  return rest
}

/** The product in the field of 256 elements of the standard. */
function multiply(a: number, b: number): number {
  let product = 0
  for (let i = 7; i >= 0; i -= 1)
    product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >> i) & 1) * a)
  return product
}
