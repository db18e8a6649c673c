import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '../..')
/**
 * The measured score, with a margin for a mutant that times out on a busy machine. Raise it with
 * the tests.
 */
const LOWEST_SCORE = 85

test('the mutation score of the service’s rules stays above its bound', (t) => {
  const { NODE_TEST_CONTEXT: _ours, NODE_OPTIONS: _options, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/@stryker-mutator/core/bin/stryker.js'), 'run'],
    { cwd: ROOT, encoding: 'utf8', env },
  )
  assert.equal(status, 0, `${stdout}\n${stderr}`)
  const score = Number(/^All files +\| +([\d.]+)/m.exec(stdout)?.[1])
  t.diagnostic(stdout.slice(stdout.lastIndexOf('\n\n') + 2))
  assert.ok(score >= LOWEST_SCORE, `the score is ${score}\n${stdout}`)
})
