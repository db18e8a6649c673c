import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { COMMAND, CREATE_TENANT, machine } from '../../../tests/harness/process.ts'

const KILLER = join(import.meta.dirname, '../../../tests/harness/kill-at.ts')
const m = machine()
after(() => m[Symbol.dispose]())
const { tenant_id: first } = m.json(...CREATE_TENANT)

/** Kills a command as it begins to print, and returns what it has printed. */
function runKilled(words: readonly string[]): string {
  const file = join(m.folder, 'output')
  const { signal } = spawnSync(process.execPath, [...COMMAND, ...words], {
    env: {
      ...process.env,
      BONDED_DATA_DIR: m.folder,
      NODE_OPTIONS: `--import ${KILLER}`,
      KILL_AT: 'writeFileSync SIGKILL',
      NODE_TEST_CONTEXT: undefined,
    },
    stdio: ['ignore', openSync(file, 'w'), 'ignore'],
  })
  assert.equal(signal, 'SIGKILL')
  return readFileSync(file, 'utf8')
}

/** The server credentials of a tenant that are accepted. */
const serverKeysOf = (tenant: string): readonly string[] =>
  m
    .json('key', 'list', tenant)
    .filter(({ kind, revoked_at }: { kind: string; revoked_at: string | null }) => {
      return kind === 'server' && (revoked_at === null || Date.parse(revoked_at) > Date.now())
    })
    .map(({ key }: { key: string }) => key)

const create = ['tenant', 'create', '--name', 'Killed', ...CREATE_TENANT.slice(4)]
for (const words of [
  create,
  ['key', 'issue', first, '--kind', 'server'],
  ['key', 'roll', serverKeysOf(first)[0] ?? ''],
])
  test(`one command replaces the credential of a killed ${words.slice(0, 2).join(' ')}`, () => {
    const before = words === create ? [] : serverKeysOf(first)
    assert.equal(runKilled(words), '')
    const tenants = m.json('tenant', 'list') as readonly { name: string; tenant_id: string }[]
    const created = tenants.find(({ name }) => name === 'Killed')?.tenant_id ?? ''
    const tenant = words === create ? created : first
    const [hidden = '', ...others] = serverKeysOf(tenant).filter((key) => !before.includes(key))
    assert.ok(hidden !== '' && others.length === 0)
    const rolled = m.json('key', 'roll', hidden, '--grace', '0')
    assert.match(rolled.server_credential, /^sk_beta_/)
    assert.deepEqual(serverKeysOf(tenant).toSorted(), [...before, rolled.key as string].toSorted())
  })
