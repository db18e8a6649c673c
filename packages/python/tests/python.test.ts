import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { findPython, runPython } from './python.ts'

/** The tests in Python: one test here for each file, so that the totals count them. */
const FILES = globSync('test_*.py', { cwd: import.meta.dirname }).toSorted()
const found = findPython('cryptography', 'httpx')

for (const file of FILES)
  test(`Python: ${file} passes`, { skip: 'skip' in found && found.skip }, () => {
    assert.ok('python' in found)
    const { status, printed } = runPython(found.python, ['-m', 'unittest', file])
    assert.equal(status, 0, printed)
    // A run that executes no test, or skips one, does not count.
    assert.match(printed, /Ran [1-9]\d* tests? in [^]*\nOK\n$/, printed)
  })

test('Python: there are tests', () => {
  assert.ok(FILES.length > 1)
})
