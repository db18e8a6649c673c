import { TABLE_MUTANTS } from './protocol/table-mutants.ts'
import { testTableMutants } from './protocol/test-mutants.ts'

/**
 * `npm run mutation:protocol`: changes the tables of the protocol, one row or member at a time,
 * prints the changes that the tests beside them do not notice, and fails if there is one.
 */
const from = performance.now()
const tested = await testTableMutants(TABLE_MUTANTS)
const survivors = tested.filter(({ outcome }) => outcome.kind !== 'failed')
for (const { mutant, outcome } of survivors)
  console.log(`${mutant.table}, ${mutant.name}: ${outcome.kind}`)
const seconds = Math.round((performance.now() - from) / 1000)
console.log(`${tested.length} changes, ${survivors.length} survivors, ${seconds} s`)
process.exitCode = survivors.length > 0 ? 1 : 0
