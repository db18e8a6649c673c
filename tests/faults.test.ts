import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { staleness } from './faults/fault.ts'
import { FAULTS } from './faults/index.ts'

const at = (path: string) => resolve(import.meta.dirname, '..', path)

test('every planted fault fits the code as it is: a stale one would be caught by nothing', () => {
  for (const fault of FAULTS) {
    assert.equal(
      staleness(fault, readFileSync(at(fault.file), 'utf8')),
      undefined,
      `${fault.file}: “${fault.name}”`,
    )
    assert.ok(
      fault.tests.length > 0 && fault.tests.every((file) => existsSync(at(file))),
      fault.name,
    )
  }
})

test('no two planted faults have one name, and there are at least forty', () => {
  assert.equal(new Set(FAULTS.map(({ name }) => name)).size, FAULTS.length)
  assert.ok(FAULTS.length >= 40)
})

test('a snippet that stands nowhere, twice, or that is replaced by itself is stale', () => {
  assert.equal(staleness({ find: 'b', replace: 'x' }, 'abc'), undefined)
  for (const [find, source] of [
    ['b', 'ac'],
    ['b', 'bb'],
    ['x', 'axc'],
  ] as const) {
    assert.notEqual(staleness({ find, replace: 'x' }, source), undefined)
  }
})
