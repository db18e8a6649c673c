import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { matchesGlob, resolve } from 'node:path'
import { test } from 'node:test'
import { filesOf, ON_POSTGRES, SLOW, TIERS, tiersOf } from '../scripts/tiers.ts'

const ROOT = resolve(import.meta.dirname, '..')
const EVERY_FILE = globSync('**/*.test.{ts,js,mjs}', {
  cwd: ROOT,
  exclude: (path) => /(?:^|\/)(?:node_modules|dist|\.stryker-tmp)$/.test(path),
})

test('every test file is in exactly one tier', () => {
  assert.ok(EVERY_FILE.length > 100)
  const run = TIERS.flatMap((tier) => filesOf(tier))
  assert.deepEqual(run.toSorted(), EVERY_FILE.toSorted())
  for (const file of EVERY_FILE) assert.equal(tiersOf(file).length, 1, file)
})

test('every pattern of a slow tier and of the tests on PostgreSQL matches a file', () => {
  for (const pattern of [...Object.values(SLOW).flat(), ...ON_POSTGRES])
    assert.ok(
      EVERY_FILE.some((file) => matchesGlob(file, pattern)),
      pattern,
    )
})
