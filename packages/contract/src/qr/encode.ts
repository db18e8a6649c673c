import { codewordsOf, type Version, versionFor } from './codewords.ts'
import { MASKS, type Mask, penaltyOf } from './masks.ts'

/** The modules of a QR code, row by row. True is dark. */
export type Modules = boolean[][]

/** The modules of the standard's own patterns. A module for data is undefined. */
type Patterns = (boolean | undefined)[][]

/**
 * Encodes a text in UTF-8 as a QR code (ISO/IEC 18004) in byte mode with error correction level M,
 * in the smallest version that holds the text. The quiet zone is not included. For the pages of a
 * browser, where a library with all modes and levels is too large. It iterates no array, and calls
 * nothing that page libraries replace, such as `Array.from`.
 *
 * @throws RangeError for more than 666 bytes: a larger code could not be scanned from the widget
 */
export function encodeQr(bytes: Uint8Array): Modules {
  const version = versionFor(bytes.length)
  const patterns = functionPatterns(version.number)
  const codewords = codewordsOf(bytes, version)
  const drawn = MASKS.map((mask, index) => drawData({ patterns, codewords, mask, index }))
  const penalties = drawn.map(penaltyOf)
  return drawn[penalties.indexOf(Math.min.apply(null, penalties))]!
}

interface Content {
  readonly patterns: Patterns
  readonly codewords: readonly number[]
  readonly mask: Mask
  readonly index: number
}

/** Places the codewords in pairs of columns, from the right, up and down in turns. */
function drawData({ patterns, codewords, mask, index }: Content): Modules {
  const modules = patterns.map((row) => row.slice())
  const last = modules.length - 1
  let bit = 0
  for (let right = last; right > 0; right -= 2) {
    // Column 6 holds a timing pattern.
    if (right === 6) right = 5
    for (let step = 0; step <= last; step += 1) {
      const y = (right + 1) & 2 ? step : last - step
      for (let x = right; x > right - 2; x -= 1)
        if (patterns[y]![x] === undefined) {
          const isDark = bitOf(codewords[bit >> 3] ?? 0, 7 - (bit & 7))
          modules[y]![x] = isDark !== (mask(x, y) === 0)
          bit += 1
        }
    }
  }
  drawFormat(modules, index)
  return modules as Modules
}

function functionPatterns(version: Version['number']): Patterns {
  const size = version * 4 + 17
  const patterns: Patterns = []
  for (let y = 0; y < size; y += 1) patterns[y] = Array(size).fill(undefined)
  /** Draws concentric squares, from their center outward. A 1 is dark. */
  const squares = ({ x, y, colors }: { x: number; y: number; colors: readonly number[] }) => {
    const reach = colors.length - 1
    for (let dy = -reach; dy <= reach; dy += 1)
      for (let dx = -reach; dx <= reach; dx += 1) {
        const row = patterns[y + dy]
        if (row && x + dx in row) row[x + dx] = colors[Math.max(Math.abs(dx), Math.abs(dy))] === 1
      }
  }
  for (let i = 0; i < size; i += 1) patterns[6]![i] = patterns[i]![6] = i % 2 === 0
  const positions = alignmentPositions(version)
  const lastPosition = size - 7
  // Finder patterns occupy the other three corners.
  positions.forEach((x) =>
    positions.forEach((y) => {
      if ((x > 6 && y > 6) || (x !== y && x + y !== lastPosition + 6))
        squares({ x, y, colors: [1, 0, 1] })
    }),
  )
  const finder = (x: number, y: number) => squares({ x, y, colors: [1, 1, 0, 1, 0] })
  finder(3, 3)
  finder(size - 4, 3)
  finder(3, size - 4)
  drawFormat(patterns, 0)
  if (version >= 7) {
    const bits = (version << 12) | remainder(version, { bits: 12, generator: 0x1f25 })
    for (let i = 0; i < 18; i += 1) {
      const a = size - 11 + (i % 3)
      const b = Math.floor(i / 3)
      patterns[a]![b] = patterns[b]![a] = bitOf(bits, i)
    }
  }
  return patterns
}

/** The centers of the alignment patterns, on both axes. */
function alignmentPositions(version: number): number[] {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = Math.ceil((version * 2 + 2) / (count - 1)) * 2
  const last = version * 4 + 10
  const positions = [6]
  for (let i = 1; i < count; i += 1) positions[i] = last - step * (count - 1 - i)
  return positions
}

/** Draws both copies of the format: level M (bits 00) and the mask. */
function drawFormat(modules: Patterns, mask: number): void {
  const size = modules.length
  const bits = ((mask << 10) | remainder(mask, { bits: 10, generator: 0x537 })) ^ 0x5412
  for (let i = 0; i < 15; i += 1) {
    const isDark = bitOf(bits, i)
    // The timing pattern takes row 6 and column 6.
    const near = i < 6 ? i : i < 8 ? i + 1 : i < 9 ? 7 : 14 - i
    if (i < 8) {
      modules[near]![8] = isDark
      modules[8]![size - 1 - i] = isDark
    } else {
      modules[8]![near] = isDark
      modules[size - 15 + i]![8] = isDark
    }
  }
  modules[size - 8]![8] = true
}

/** The remainder of a BCH code. */
function remainder(data: number, code: { bits: number; generator: number }): number {
  let rest = data
  for (let i = 0; i < code.bits; i += 1)
    rest = (rest << 1) ^ ((rest >>> (code.bits - 1)) * code.generator)
  return rest
}

function bitOf(value: number, index: number): boolean {
  return ((value >> index) & 1) === 1
}
