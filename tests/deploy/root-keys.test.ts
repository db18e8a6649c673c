import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { after, afterEach, test } from 'node:test'
import { readConfig } from '../../packages/server/src/settings/config.ts'

const EXAMPLES = resolve(import.meta.dirname, '../../deploy/root-keys')
const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString('base64url')
const KEYS = `k1:${KEY}`
const folder = mkdtempSync(join(tmpdir(), 'bonded-deploy-keys-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const environment = { ...process.env }
afterEach(() => {
  process.env = { ...environment }
})

const idsFrom = async (example: string) => {
  const { rootKeys } = readConfig({ BONDED_ROOT_KEYS_COMMAND: join(EXAMPLES, example) })
  return (await rootKeys.load()).map(({ id, bytes }) => [
    id,
    Buffer.from(bytes).toString('base64url'),
  ])
}

/** Puts a program of this name first in the PATH. It stores its arguments. */
function standIn(name: string, script: string): () => readonly string[] {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\nprintf '%s\\n' "$@" > ${path}.args\n${script}`)
  chmodSync(path, 0o755)
  process.env.PATH = `${folder}${delimiter}${environment.PATH}`
  return () => readFileSync(`${path}.args`, 'utf8').trim().split('\n')
}

test('the example for Vault asks for one member of one secret', async () => {
  const argumentsOf = standIn('vault', `printf %s '${KEYS}'`)
  process.env.ROOT_KEYS_SECRET = 'kv/gate'
  assert.deepEqual(await idsFrom('vault'), [['k1', KEY]])
  assert.deepEqual(argumentsOf(), ['kv', 'get', '-field=keys', 'kv/gate'])
})

test('the example for AWS KMS has the key service decrypt a file', async () => {
  const file = join(folder, 'root-keys.kms')
  writeFileSync(file, KEYS)
  // The key service encodes what it decrypted. The stand-in has nothing to decrypt.
  const argumentsOf = standIn('aws', `base64 -w0 ${file}; echo`)
  process.env.ROOT_KEYS_FILE = file
  assert.deepEqual(await idsFrom('aws-kms'), [['k1', KEY]])
  const args = ['kms', 'decrypt', '--ciphertext-blob', `fileb://${file}`]
  assert.deepEqual(argumentsOf(), [...args, '--query', 'Plaintext', '--output', 'text'])
})

test('the example for age decrypts a file with an identity', async () => {
  const argumentsOf = standIn('age', `echo '${KEYS}'`)
  process.env.AGE_IDENTITY = '/etc/age.key'
  process.env.ROOT_KEYS_FILE = '/etc/keys.age'
  assert.deepEqual(await idsFrom('age'), [['k1', KEY]])
  assert.deepEqual(argumentsOf(), ['--decrypt', '--identity', '/etc/age.key', '/etc/keys.age'])
})

test('an example fails with its key service, and its error quotes nothing', async () => {
  for (const [example, name] of [
    ['vault', 'vault'],
    ['aws-kms', 'aws'],
    ['age', 'age'],
  ] as const) {
    standIn(name, `echo '${KEYS}'; echo denied >&2; exit 2`)
    await assert.rejects(idsFrom(example), { message: 'ended with status 2' }, example)
  }
})

const hasSystemd = spawnSync('systemd-creds', ['--version']).status === 0
test('the example for systemd-creds decrypts a credential of this machine', {
  skip: !hasSystemd && 'systemd-creds is not installed',
}, async () => {
  // A host key of its own, in place of the one of the machine.
  process.env.SYSTEMD_CREDENTIAL_SECRET = join(folder, 'host.secret')
  process.env.ROOT_KEYS_FILE = join(folder, 'root-keys.cred')
  const args = ['encrypt', '--with-key=host', '--name=bonded-root-keys']
  execFileSync('systemd-creds', [...args, '-', process.env.ROOT_KEYS_FILE], {
    input: KEYS,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  assert.ok(!readFileSync(process.env.ROOT_KEYS_FILE, 'utf8').includes(KEY))
  assert.deepEqual(await idsFrom('systemd-creds'), [['k1', KEY]])
  // A credential under another name, or of another machine, is not these keys.
  rmSync(process.env.SYSTEMD_CREDENTIAL_SECRET, { force: true })
  await assert.rejects(idsFrom('systemd-creds'), { message: 'ended with status 1' })
})
