import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pythonTables } from '../../../scripts/python-tables.ts'

/** Only some of the characters are in a vector, so the tables are compared with Unicode itself. */
test('Python: every class of characters is the one of Unicode, and every table that of the library', () => {
  const file = join(import.meta.dirname, '../src/bonded/unicode_tables.py')
  const [written, expected] = [readFileSync(file, 'utf8'), pythonTables()].map((text) =>
    text.split('\n'),
  ) as [string[], string[]]
  for (const [index, line] of expected.entries())
    assert.equal(written[index], line, `line ${index + 1}`)
  assert.equal(written.length, expected.length)
})
