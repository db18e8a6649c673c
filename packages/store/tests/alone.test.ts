import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

test('the tests of the store run without the service', () => {
  const files = globSync('**/*.ts', { cwd: import.meta.dirname })
  assert.ok(files.length > 30, 'the tests were found')
  const dependent = files.filter((file) =>
    /from '[./]*\/(?:harness|cli)\//.test(readFileSync(join(import.meta.dirname, file), 'utf8')),
  )
  assert.deepEqual(dependent, [])
})
