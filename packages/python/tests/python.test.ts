import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { findPython, passes } from './python.ts'

/**
 * The tests in Python: one test here for each file, so that the totals count them.
 * `planted.test.ts` runs the last one.
 */
const FILES = globSync('test_*.py', { cwd: import.meta.dirname })
  .filter((file) => file !== 'test_planted.py')
  .toSorted()
const found = findPython('cryptography', 'httpx')

for (const file of FILES)
  test(`Python: ${file} passes`, { skip: 'skip' in found && found.skip }, () => {
    assert.ok('python' in found)
    passes(found.python, file)
  })

test('Python: there are tests', () => {
  assert.ok(FILES.length > 1)
})
