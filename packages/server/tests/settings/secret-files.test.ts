import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseRootKeys } from '@bonded/core/domain/root-keys'
import { chosenSettings, ConfigError, readConfig } from '../../src/settings/config.ts'

const KEYS = 'k1:AbCdEfGhIjKlMnOpQrStUvWxYz012345678-_aBcDeE'
const folder = mkdtempSync(join(tmpdir(), 'bonded-secrets-'))
const fileOf = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const mistakesOf = (environment: NodeJS.ProcessEnv) => {
  try {
    readConfig(environment)
    return []
  } catch (failure) {
    assert.ok(failure instanceof ConfigError)
    assert.ok(!failure.message.includes(KEYS))
    return failure.mistakes.map(({ setting }) => setting)
  }
}

test('reads a secret from the file that its setting names, without the last line break', async () => {
  for (const text of [KEYS, `${KEYS}\n`, `${KEYS}\r\n`]) {
    const { rootKeys } = readConfig({ BONDED_ROOT_KEYS_FILE: fileOf('keys', text) })
    assert.deepEqual(await rootKeys.load(), parseRootKeys(KEYS))
  }
  const url = fileOf('url', 'postgres://bonded:hunter2@db.example.com/bonded\n')
  const { postgres } = readConfig({ BONDED_DATABASE_URL_FILE: url })
  assert.equal(postgres?.address.user, 'bonded')
})

test('rejects a secret that is given twice', () => {
  const BONDED_ROOT_KEYS_FILE = fileOf('twice', KEYS)
  assert.deepEqual(mistakesOf({ BONDED_ROOT_KEYS_FILE, BONDED_ROOT_KEYS: KEYS }), [
    'BONDED_ROOT_KEYS_FILE',
  ])
})

test('rejects a missing, empty, or large file, a folder, and a device without an end', () => {
  const paths = [join(folder, 'none'), fileOf('empty', ''), fileOf('break', '\n'), folder]
  for (const path of [...paths, fileOf('large', 'k'.repeat(65_537)), '/dev/zero'])
    assert.deepEqual(mistakesOf({ BONDED_ROOT_KEYS_FILE: path }), ['BONDED_ROOT_KEYS_FILE'], path)
})

test('reads no other setting from a file', () => {
  assert.deepEqual(mistakesOf({ BONDED_PORT_FILE: fileOf('port', '1') }), ['BONDED_PORT_FILE'])
})

test('shows a secret from a file as one of the environment', () => {
  const BONDED_ROOT_KEYS_FILE = fileOf('shown', KEYS)
  const chosen = chosenSettings({ BONDED_ROOT_KEYS_FILE })
  const keys = chosen.find(({ name }) => name === 'BONDED_ROOT_KEYS')
  assert.deepEqual([keys?.source, keys?.secret], ['environment', true])
})
