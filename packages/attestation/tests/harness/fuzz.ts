import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { type Bytes, mutator } from './mutate-bytes.ts'

/** For each verifier: enough for a developer's run. `.ci/run` says 60. */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 5)
/** Named in a failure; set it to see the same inputs again. */
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))
/** The slowest honest input takes 18 ms; this is a hang. */
const HANG_MS = 2_000
/**
 * Most of what parsers allocate is garbage at once; what stays after this many bytes is a leak or
 * an amplification.
 */
const MAX_GROWTH_BYTES = 512 * 1024 * 1024

/** How long a test may take that fuzzes. */
export const FUZZ_TIMEOUT_MS = SECONDS * 1_000 + 60_000

/**
 * Feeds changed copies of the samples until the time is up. Whatever is thrown, takes long or holds
 * on to memory fails with the seed and the input. @returns how many inputs there were, for the
 * report
 */
export async function fuzz(
  samples: readonly Bytes[],
  judge: (input: Buffer) => unknown,
): Promise<string> {
  const next = mutator(samples, SEED)
  const rssAtStart = process.memoryUsage.rss()
  const until = performance.now() + SECONDS * 1_000
  let inputs = 0
  for (; performance.now() < until; inputs++) {
    const input = next()
    const told = () => `seed ${SEED}, input ${inputs}: ${input.toString('hex').slice(0, 2_000)}`
    const from = performance.now()
    try {
      await judge(input)
    } catch (cause) {
      throw new Error(told(), { cause })
    }
    assert.ok(performance.now() - from < HANG_MS, `too long: ${told()}`)
  }
  assert.ok(process.memoryUsage.rss() - rssAtStart < MAX_GROWTH_BYTES, `seed ${SEED}: memory grew`)
  return `${inputs} inputs, seed ${SEED}`
}
