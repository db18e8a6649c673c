import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { after, test } from 'node:test'
import { MUTANTS } from './attacks.ts'
import { SourcesCopy } from './sources-copy.ts'

const copy = new SourcesCopy(resolve(import.meta.dirname, '../..'))
after(() => copy[Symbol.dispose]())

test('every test of the mutants passes without a mutant', async () => {
  const files = [...new Set(MUTANTS.flatMap(({ tests }) => tests))]
  assert.deepEqual(await copy.run(files), { kind: 'passed' })
})

for (const mutant of MUTANTS)
  test(`${mutant.attack}: a test fails when ${mutant.name}`, async (t) => {
    const outcome = await copy.outcomeOf(mutant)
    assert.equal(outcome.kind, 'failed', `${mutant.file}: ${JSON.stringify(outcome)}`)
    if (outcome.kind === 'failed') t.diagnostic(`noticed by: ${outcome.test}`)
  })
