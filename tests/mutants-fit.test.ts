import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { MUTANTS } from './mutants/attacks.ts'
import { misfit } from './mutants/mutant.ts'

const ROOT = resolve(import.meta.dirname, '..')

test('every mutant fits the code, and its tests exist', () => {
  const wrong = MUTANTS.flatMap((mutant) => {
    const missing = [mutant.file, ...mutant.tests].filter((file) => !existsSync(join(ROOT, file)))
    if (missing.length > 0) return [`${mutant.name}: ${missing.join(', ')} is missing`]
    const reason = misfit(mutant, readFileSync(join(ROOT, mutant.file), 'utf8'))
    return reason === undefined ? [] : [`${mutant.file}: ${mutant.name}: ${reason}`]
  })
  assert.deepEqual(wrong, [])
})

test('a mutant does not fit when its text is unchanged, missing, or not unique', () => {
  assert.equal(misfit({ find: 'a', replace: 'b' }, 'a'), undefined)
  for (const [find, source] of [
    ['b', 'b'],
    ['a', 'b'],
    ['a', 'a a'],
  ] as const)
    assert.notEqual(misfit({ find, replace: 'b' }, source), undefined)
})

test('no two mutants have the same name', () => {
  assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length)
})
