import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { OF_PHONE, OF_VERIFIER } from '../proofs/tests/kit/faults.ts'
import { MUTANTS } from './mutants/attacks.ts'
import { misfit } from './mutants/mutant.ts'
import { RELAY_CHECKS } from './mutants/relay-checks.ts'
import { PLANTED_FAULTS, planted } from './nodes/planted-faults.ts'

const ROOT = resolve(import.meta.dirname, '..')

test('every mutant fits the code, and its tests exist', () => {
  const wrong = MUTANTS.flatMap((mutant) => {
    const missing = [mutant.file, mutant.noticedBy.file].filter(
      (file) => !existsSync(join(ROOT, file)),
    )
    if (missing.length > 0) return [`${mutant.name}: ${missing.join(', ')} is missing`]
    const reason = misfit(mutant, readFileSync(join(ROOT, mutant.file), 'utf8'))
    return reason === undefined ? [] : [`${mutant.file}: ${mutant.name}: ${reason}`]
  })
  assert.deepEqual(wrong, [])
})

test('every removed check of a relay fits the code', () => {
  for (const { mutant } of RELAY_CHECKS)
    assert.equal(
      misfit(mutant, readFileSync(join(ROOT, mutant.file), 'utf8')),
      undefined,
      mutant.name,
    )
})

test('every planted fault of a node fits the code', () => {
  for (const { edits } of PLANTED_FAULTS)
    for (const file of new Set(edits.map((edit) => edit.file))) {
      const own = edits.filter((edit) => edit.file === file)
      assert.doesNotThrow(() => planted(file, readFileSync(join(ROOT, file), 'utf8'), own))
    }
})

test('every fault that the kit must find fits the code', () => {
  for (const { kind, file, from: find, to: replace } of [...OF_PHONE, ...OF_VERIFIER])
    assert.equal(
      misfit({ find, replace }, readFileSync(join(ROOT, 'packages', file), 'utf8')),
      undefined,
      kind,
    )
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
