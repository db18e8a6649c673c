import { readFileSync } from 'node:fs'
import { lineOf, type Totals } from './test-reporter.ts'

/**
 * Prints the sum of the totals that the tiers appended to a file, as the last line of `.ci/run`.
 */
const [file = ''] = process.argv.slice(2)
const tiers = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Totals)
const sum = (member: keyof Totals) => tiers.reduce((total, tier) => total + tier[member], 0)
console.log(lineOf({ passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }))
