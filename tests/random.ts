import fc from 'fast-check'
import { seeded } from './seeded.ts'

/*
 * Chance in tests. Every random history, fuzzer and search draws from the seed here, so a run is
 * red because of the code and not because of the draw. tests/random.test.ts rejects other sources.
 */

/** `.ci/run` always has this seed. `FUZZ_SEED` sets another one, to search anew or to repeat. */
export const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_126)
if (!Number.isSafeInteger(SEED)) throw new Error('FUZZ_SEED is not a whole number')

/**
 * Whether the run searches for new failures: `npm run test:soak -- --fresh`. Such a run has a new
 * seed and may take long.
 */
export const IS_FRESH = process.env['TEST_FRESH'] === '1'

// An error of fast-check names the seed, and the path to the smallest failing case.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: SEED })
export { fc }

/** The numbers of one search. Each search has its own name, so that they do not draw alike. */
export function randomFor(search: string): (below: number) => number {
  let mixed = SEED
  for (const char of search) mixed = Math.imul(mixed ^ (char.codePointAt(0) ?? 0), 0x01000193)
  return seeded(mixed)
}
