import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { after, test } from 'node:test'
import { MUTANTS } from './attacks.ts'
import type { Tests } from './mutant.ts'
import { SourcesCopy } from './sources-copy.ts'

const copy = new SourcesCopy(resolve(import.meta.dirname, '../..'))
after(() => copy[Symbol.dispose]())

/** The tests that failed, each with its whole name. */
const noticing: Tests[] = []

for (const mutant of MUTANTS)
  test(`${mutant.attack}: a test fails when ${mutant.name}`, async (t) => {
    const outcome = await copy.outcomeOf(mutant)
    assert.equal(outcome.kind, 'failed', `${mutant.file}: ${JSON.stringify(outcome)}`)
    if (outcome.kind !== 'failed') return
    t.diagnostic(`noticed by: ${outcome.test}`)
    noticing.push({ file: mutant.noticedBy.file, begin: outcome.test })
  })

// It loads every file, so it also shows that no mutant was noticed because a file does not load.
test('each test that noticed a mutant passes without one', async () => {
  const outcome = await copy.run(noticing)
  assert.equal(outcome.kind, 'passed', JSON.stringify(outcome))
  if (outcome.kind !== 'passed') return
  const passed = new Set(outcome.tests)
  assert.deepEqual(
    noticing.filter(({ begin = '' }) => !passed.has(begin)),
    [],
  )
})
