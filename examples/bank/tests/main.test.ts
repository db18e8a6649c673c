import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const CREDENTIALS = { BONDED_SERVER_CREDENTIAL: 'sk_beta_wrong', BONDED_PUBLISHABLE_KEY: 'pk' }

for (const [what, env, message] of [
  ['missing credentials', {}, /Set BONDED_SERVER_CREDENTIAL and BONDED_PUBLISHABLE_KEY\./],
  [
    'a malformed server credential',
    CREDENTIALS,
    /serverCredential.*Check BONDED_SERVER_CREDENTIAL/,
  ],
  [
    'a service origin that is not an address',
    { ...CREDENTIALS, BONDED_SERVICE_ORIGIN: 'bond' },
    /BONDED_SERVICE_ORIGIN is not an address/,
  ],
] as const) {
  test(`explains ${what} in one line, without a stack, and exits with 2`, () => {
    const { NODE_TEST_CONTEXT: _ours, ...inherited } = process.env
    const ran = spawnSync(process.execPath, ['--conditions=@bonded/source', MAIN], {
      encoding: 'utf8',
      env: { ...inherited, ...env },
      timeout: 60_000,
    })
    assert.equal(ran.status, 2, ran.stderr)
    assert.match(ran.stderr, message)
    assert.equal(ran.stderr.trim().split('\n').length, 1, ran.stderr)
  })
}
