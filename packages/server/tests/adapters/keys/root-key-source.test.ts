import assert from 'node:assert/strict'
import { readFileSync, rmSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { RootKeyError } from '@bonded/core/domain/root-keys'
import { printedRootKeys } from '../../../src/adapters/keys/root-key-source.ts'
import { ConfigError, readConfig } from '../../../src/settings/config.ts'

const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString('base64url')
const folder = mkdtempSync(join(tmpdir(), 'bonded-root-keys-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let written = 0
function program(script: string, mode = 0o755): string {
  const path = join(folder, `program-${written++}`)
  writeFileSync(path, `#!/bin/sh\n${script}`, { mode })
  return path
}

test('root keys come from what a program prints, which runs once', async () => {
  const command = program(`echo run >> ${folder}/runs; echo "k2:${KEY}, k1:${KEY.toLowerCase()}"`)
  const { rootKeys } = readConfig({
    BONDED_ROOT_KEYS_COMMAND: command,
    BONDED_ENVIRONMENT: 'production',
    BONDED_PUBLIC_ORIGIN: 'https://bond.example',
  })
  assert.equal(rootKeys.exists(), true)
  const [keys, again] = await Promise.all([rootKeys.load(), rootKeys.load()])
  assert.deepEqual(
    keys.map(({ id }) => id),
    ['k2', 'k1'],
  )
  assert.deepEqual(again, keys)
  assert.equal(readFileSync(join(folder, 'runs'), 'utf8'), 'run\n')
})

test('a program that fails, hangs, or prints no keys gets a stable error that quotes nothing', async () => {
  const cases: readonly (readonly [script: string, message: string])[] = [
    [`echo k1:${KEY}; echo ${KEY} >&2; exit 3`, 'ended with status 3'],
    [`echo k1:${KEY}; sleep 60`, 'did not end within 0.2 s'],
    [`yes k1:${KEY}`, 'printed more than 65,536 characters'],
    ['true', 'printed nothing'],
    ['echo', 'printed nothing'],
    [`echo ${KEY}`, 'printed no root keys: key 1 is not of the form id:base64url'],
    [`echo k1:${KEY.slice(0, 22)}`, 'printed no root keys: key 1 is not 32 bytes in base64url'],
    [`echo ${KEY.slice(0, 32)}:k1`, 'printed no root keys: key 1 is not 32 bytes in base64url'],
    [`echo ${KEY.slice(0, 32)}`, 'printed no root keys: key 1 is not 32 bytes in base64url'],
    [`echo k1:${KEY}{}`, 'printed no root keys: key 1 is not 32 bytes in base64url'],
  ]
  for (const [script, message] of cases) {
    const command = program(script)
    const source = printedRootKeys(command, script.includes('sleep') ? 200 : 20_000)
    const failure = await source.load().then(
      () => assert.fail(script),
      (error: unknown) => error,
    )
    assert.ok(failure instanceof RootKeyError, script)
    assert.deepEqual([failure.message, failure.source], [message, { command }], script)
  }
  const gone = program('true')
  const { rootKeys } = readConfig({ BONDED_ROOT_KEYS_COMMAND: gone })
  rmSync(gone)
  await assert.rejects(rootKeys.load(), { message: 'cannot be run' })
})

test('a program must be executable, and is given in place of the keys', () => {
  const file = join(folder, 'keys')
  writeFileSync(file, `k1:${KEY}`)
  const command = program('true')
  for (const settings of [
    { BONDED_ROOT_KEYS_COMMAND: program('true', 0o644) },
    { BONDED_ROOT_KEYS_COMMAND: folder },
    { BONDED_ROOT_KEYS_COMMAND: join(folder, 'missing') },
    { BONDED_ROOT_KEYS_COMMAND: command, BONDED_ROOT_KEYS: `k1:${KEY}` },
    { BONDED_ROOT_KEYS_COMMAND: command, BONDED_ROOT_KEYS_FILE: file },
  ])
    assert.throws(
      () => readConfig(settings),
      (error) =>
        error instanceof ConfigError &&
        error.mistakes.map(({ setting }) => setting).join() === 'BONDED_ROOT_KEYS_COMMAND' &&
        !error.message.includes(KEY),
      JSON.stringify(settings),
    )
})
