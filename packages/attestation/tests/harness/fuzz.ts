import assert from 'node:assert/strict'
import { IS_FRESH, SEED } from '../../../../tests/random.ts'
import { type Bytes, mutator } from './mutate-bytes.ts'

/**
 * The inputs of each verifier. A number of seconds would depend on the machine. The environment
 * variable sets more of them, for a longer search.
 */
export const FUZZ_INPUTS = 1_000
const FRESH_INPUTS = 20_000
const INPUTS = Number(process.env['FUZZ_INPUTS'] ?? (IS_FRESH ? FRESH_INPUTS : FUZZ_INPUTS))
/** CPU time, which a busy machine does not extend. The slowest valid input takes 18 ms. */
const HANG_MS = 2_000
/**
 * Parsers allocate mostly short-lived garbage. Growth beyond this is a leak or an amplification.
 */
const MAX_GROWTH_BYTES = 512 * 1024 * 1024

/**
 * Passes altered copies of the samples to the verifier. It fails, with the seed and the input, if
 * the verifier throws, takes long, or leaks memory.
 *
 * @returns the number of inputs and the seed, for the report
 */
export async function fuzz(
  samples: readonly Bytes[],
  verify: (input: Buffer) => unknown,
): Promise<string> {
  const next = mutator(samples)
  const rssAtStart = process.memoryUsage.rss()
  for (let index = 0; index < INPUTS; index++) {
    const input = next()
    const description = () =>
      `seed ${SEED}, input ${index}: ${input.toString('hex').slice(0, 2_000)}`
    const before = process.cpuUsage()
    try {
      await verify(input)
    } catch (cause) {
      throw new Error(description(), { cause })
    }
    const { user, system } = process.cpuUsage(before)
    assert.ok((user + system) / 1_000 < HANG_MS, `too long: ${description()}`)
  }
  assert.ok(process.memoryUsage.rss() - rssAtStart < MAX_GROWTH_BYTES, `seed ${SEED}: memory grew`)
  return `${INPUTS} inputs, seed ${SEED}`
}
