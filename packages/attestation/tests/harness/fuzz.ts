import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { type Bytes, mutator } from './mutate-bytes.ts'

/** The seconds for each verifier. The test tiers set them. */
const SECONDS = Number(process.env.FUZZ_SECONDS ?? 5)
/** A failure names its seed. Set it to repeat the same inputs. */
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))
/** The slowest valid input takes 18 ms. */
const HANG_MS = 2_000
/**
 * Parsers allocate mostly short-lived garbage. Growth beyond this is a leak or an amplification.
 */
const MAX_GROWTH_BYTES = 512 * 1024 * 1024

/** The time limit of a test that fuzzes. */
export const FUZZ_TIMEOUT_MS = SECONDS * 1_000 + 60_000

/**
 * Passes altered copies of the samples to the verifier until the time has elapsed. It fails, with
 * the seed and the input, if the verifier throws, takes long, or leaks memory.
 *
 * @returns the number of inputs and the seed, for the report
 */
export async function fuzz(
  samples: readonly Bytes[],
  verify: (input: Buffer) => unknown,
): Promise<string> {
  const next = mutator(samples, SEED)
  const rssAtStart = process.memoryUsage.rss()
  const until = performance.now() + SECONDS * 1_000
  let inputs = 0
  for (; performance.now() < until; inputs++) {
    const input = next()
    const description = () =>
      `seed ${SEED}, input ${inputs}: ${input.toString('hex').slice(0, 2_000)}`
    const from = performance.now()
    try {
      await verify(input)
    } catch (cause) {
      throw new Error(description(), { cause })
    }
    assert.ok(performance.now() - from < HANG_MS, `too long: ${description()}`)
  }
  assert.ok(process.memoryUsage.rss() - rssAtStart < MAX_GROWTH_BYTES, `seed ${SEED}: memory grew`)
  return `${inputs} inputs, seed ${SEED}`
}
