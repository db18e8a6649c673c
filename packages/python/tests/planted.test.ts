import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findPython, passes } from './python.ts'

const found = findPython('cryptography', 'httpx')

test('Python: each planted difference from the TypeScript library fails a vector', {
  skip: 'skip' in found && found.skip,
}, () => {
  assert.ok('python' in found)
  passes(found.python, 'test_planted.py')
})
