import type { Modules } from './encode.ts'

/** A mask inverts the data modules where it is 0. */
export type Mask = (x: number, y: number) => number

/** The masks of the standard, by number. */
export const MASKS: readonly Mask[] = [
  (x, y) => (x + y) % 2,
  (_, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
]

/** Sequences that a scanner could take for a finder pattern. */
const LIKE_FINDER = /(?=10111010000|00001011101)/g
/** The light modules around the code. */
const QUIET = '0000'

/** How hard a drawing is to scan, as the standard counts it. Lower is better. */
export function penaltyOf(modules: Modules): number {
  const rows = modules.map((row) => row.map(Number))
  const lines = rows.concat(rows.map((_, x) => rows.map((row) => row[x]!)))
  const size = rows.length
  let penalty = 0
  lines.forEach((bits) => {
    const line = bits.join('')
    line.replace(/(.)\1{4,}/g, (run) => ((penalty += run.length - 2), ''))
    ;(QUIET + line + QUIET).replace(LIKE_FINDER, () => ((penalty += 40), ''))
  })
  rows.forEach((row, y) => {
    const below = rows[y + 1]
    row.forEach((bit, x) => {
      if (below && x + 1 < size && bit === row[x + 1] && bit === below[x] && bit === below[x + 1])
        penalty += 3
    })
  })
  const dark = rows.flat().filter(Boolean).length / size ** 2
  return penalty + 10 * Math.floor(Math.abs(dark - 0.5) * 20)
}
