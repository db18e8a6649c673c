import { median } from './process.ts'
import { type AssertionRow, assertionRows } from './verify/assertions.ts'
import { measureRegistrations } from './verify/registrations.ts'
import { cpuMicros } from './verify/timing.ts'

/**
 * Measures the CPU microseconds of an assertion for each format, and of a bare `crypto.verify` of
 * the same signature with a cached key object. Rounds of the two alternate, and the ratio is the
 * median over the rounds. Then measures verification on worker threads: its duration, and its share
 * on the event loop. `--json` prints one document.
 */
const CALLS = Number(process.env.BENCH_CALLS ?? 1_000)
const ROUNDS = 15

const assertions = (await assertionRows()).map(measure)
const registrations = await measureRegistrations()

if (process.argv.includes('--json'))
  console.log(JSON.stringify({ calls: CALLS, rounds: ROUNDS, assertions, registrations }))
else {
  console.log(
    `CPU µs per assertion, median of ${ROUNDS} rounds of ${CALLS}, beside bare crypto.verify`,
  )
  for (const { name, us, bare_us, ratio, target, within } of assertions) {
    const targetText = target === null ? '' : `   target ${target}${within ? '' : '   OVER'}`
    console.log(
      `  ${name.padEnd(34)} ${us.toFixed(1).padStart(7)}   bare ${bare_us.toFixed(1).padStart(6)}   ratio ${ratio.toFixed(2)}${targetText}`,
    )
  }
  console.log('median µs from call to result, one at a time, and CPU µs on the event loop')
  for (const { name, us, loop_us } of registrations)
    console.log(
      `  ${name.padEnd(34)} ${us.toFixed(0).padStart(7)}   on the loop ${loop_us.toFixed(0).padStart(5)}`,
    )
}

function measure({ name, verifyAll, verifyBare, limit }: AssertionRow) {
  if (!verifyAll() || !verifyBare()) throw new Error(`${name} does not verify`)
  cpuMicros(verifyAll, CALLS)
  cpuMicros(verifyBare, CALLS)
  const rounds = Array.from({ length: ROUNDS }, () => ({
    us: cpuMicros(verifyAll, CALLS),
    bare_us: cpuMicros(verifyBare, CALLS),
  }))
  const ratio = median(rounds.map((round) => round.us / round.bare_us))
  return {
    name,
    us: median(rounds.map((round) => round.us)),
    bare_us: median(rounds.map((round) => round.bare_us)),
    ratio,
    target: limit ?? null,
    within: limit === undefined || ratio <= limit,
  }
}
