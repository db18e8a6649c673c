import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TABLE_MUTANTS } from '../../scripts/protocol/table-mutants.ts'
import { testTableMutants } from '../../scripts/protocol/test-mutants.ts'

test('a test of core fails for every change of a row, of a transition, and of a state', async (t) => {
  const tested = await testTableMutants(TABLE_MUTANTS)
  t.diagnostic(`${tested.length} changes`)
  assert.deepEqual(
    tested.flatMap(({ mutant, outcome }) =>
      outcome.kind === 'failed' ? [] : [`${mutant.table}, ${mutant.name}: ${outcome.kind}`],
    ),
    [],
  )
})
