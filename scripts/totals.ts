import { readFileSync } from 'node:fs'
import { lineOf, type WrittenTotals } from './test-reporter.ts'

/**
 * Prints the sum of the totals that the tiers appended to a file, as the last line of `.ci/run`,
 * and before it each failed test again.
 * With `--without-vectors` it fails if a test was skipped for another reason than that the
 * recordings are missing, and says how many were skipped for it.
 */
const [file = '', option] = process.argv.slice(2)
const tiers = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as WrittenTotals)
for (const failure of tiers.flatMap(({ failures = [] }) => failures)) console.log(failure)
const sum = (member: 'passed' | 'failed' | 'skipped' | 'unrecorded') =>
  tiers.reduce((total, tier) => total + (tier[member] ?? 0), 0)
console.log(lineOf({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }))
if (option === '--without-vectors') {
  const others = sum('skipped') - sum('unrecorded')
  console.warn(`LOUD: ${sum('unrecorded')} tests need recordings, which are not here.`)
  if (others > 0) console.error(`${others} tests were skipped for another reason.`)
  if (others > 0 || tiers.length === 0) process.exitCode = 1
}
