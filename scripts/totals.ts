import { existsSync, readFileSync } from 'node:fs'
import type { Cost } from './batch.ts'
import { lineOf, type WrittenTotals } from './test-reporter.ts'

/**
 * Prints the sum of the totals that the tiers appended to a file, as the last line of `.ci/run`,
 * and before it each failed test again, and the CPU time of each tier if `TEST_COSTS` has it.
 * With `--without-vectors` it fails if a test was skipped for another reason than that the
 * recordings are missing, and says how many were skipped for it.
 */
const [file = '', option] = process.argv.slice(2)
const tiers = linesOf(file) as readonly WrittenTotals[]
for (const failure of tiers.flatMap(({ failures = [] }) => failures)) console.log(failure)
const { TEST_COSTS = '' } = process.env
const costs = existsSync(TEST_COSTS) ? (linesOf(TEST_COSTS) as readonly Cost[]) : []
for (const [tier, files] of Map.groupBy(costs, (cost) => cost.tier)) {
  const cpuSeconds = files.reduce((total, cost) => total + cost.cpuSeconds, 0)
  console.log(`--- ${tier}: ${files.length} files, ${cpuSeconds.toFixed(0)} s of CPU time`)
}
const sum = (member: 'passed' | 'failed' | 'skipped' | 'unrecorded') =>
  tiers.reduce((total, tier) => total + (tier[member] ?? 0), 0)
console.log(lineOf({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }))
if (option === '--without-vectors') {
  const others = sum('skipped') - sum('unrecorded')
  console.warn(`LOUD: ${sum('unrecorded')} tests need recordings, which are not here.`)
  if (others > 0) console.error(`${others} tests were skipped for another reason.`)
  if (others > 0 || tiers.length === 0) process.exitCode = 1
}

function linesOf(path: string): readonly unknown[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}
