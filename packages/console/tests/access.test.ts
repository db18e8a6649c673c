import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { stringify } from 'yaml'
import { SettingsFileError } from '@bonded/cli/program/settings-file-error'
import { readAccess } from '../src/access.ts'
import { explain } from '../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-console-'))
after(() => rmSync(folder, { recursive: true }))
const VALID = {
  origin: 'https://console.example',
  issuer: 'https://login.example/realms/a',
  client_id: 'console',
  client_secret_file: 'secret',
  roles: { viewer: ['auditors'], admin: ['operators'] },
}

function read(written: unknown) {
  const file = join(folder, 'access.yaml')
  writeFileSync(file, typeof written === 'string' ? written : stringify(written))
  return readAccess(file)
}

test('reads who may sign in, with the secret of a file beside it', () => {
  writeFileSync(join(folder, 'secret'), 'a secret of the test\n')
  const access = read(VALID)
  assert.equal(access.clientSecret?.reveal(), 'a secret of the test')
  assert.doesNotMatch(JSON.stringify(access), /a secret of the test/)
  assert.deepEqual(access.groups, { viewer: ['auditors'], support: [], admin: ['operators'] })
  assert.equal(access.groupsClaim, 'groups')
})

test('names everything that is wrong with the file', () => {
  for (const [change, problem] of [
    [{ origin: 'http://console.example' }, '/origin: must be an origin with https'],
    [{ origin: 'https://console.example/a' }, '/origin: must be an origin'],
    [{ issuer: 'http://login.example' }, '/issuer: must be an address with https'],
    [{ issuer: 'login' }, '/issuer: must be an address'],
    [{ roles: { owner: ['a'] } }, '/roles/owner: is no member'],
    [{ roles: { admin: [] } }, '/roles: must name a group'],
    [{ extra: 1 }, '/extra: is no member'],
    [{ client_secret_file: 'none' }, 'cannot be read'],
  ] as const)
    assert.throws(
      () => read({ ...VALID, ...change }),
      (error: Error) => {
        assert.ok(error instanceof SettingsFileError)
        assert.ok(error.message.includes(problem), error.message)
        assert.deepEqual(
          [explain(error).code, explain(error).usage],
          ['configuration_invalid', true],
        )
        return true
      },
    )
  assert.throws(() => read('a: ['), SettingsFileError)
})
