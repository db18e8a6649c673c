import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { openPostgres } from '../../../store/src/postgres/open-postgres.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { type Store, StoreError } from '../../../core/src/ports/store.ts'
import { ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { runSql } from '../../../store/tests/servers/postgres.ts'
import { machine } from '../../../../tests/harness/process.ts'
import { postgresDatabase, settingsOf } from '../../../store/tests/servers/test-database.ts'
import { NOW } from '../../../store/tests/tables/table-operations.ts'

const database = await postgresDatabase()
const { url } = database
const stores: Store[] = []
after(async () => {
  for (const store of stores) await store[Symbol.asyncDispose]()
  await database.drop()
})

const SETTINGS = {
  BONDED_ENVIRONMENT: 'sandbox',
  BONDED_PUBLIC_ORIGIN: 'https://bond.example',
  BONDED_TRUST_PROXY: '0',
}

async function startNode(settings?: Readonly<Record<string, string>>): Promise<Store> {
  const { idKeys } = keyringOf([ROOT_KEY])
  const open = await openPostgres(settingsOf(url), { now: NOW, idKeys, shared: settings })
  const store = open({ bus: localBus(), meter: noMeter })
  stores.push(store)
  return store
}

const namesOnly = (names: string, settings: object) => (failure: unknown) => {
  assert.ok(failure instanceof StoreError, String(failure))
  assert.match(failure.message, new RegExp(`: ${names} of this node differs? from the other nodes`))
  for (const value of Object.values(settings)) assert.ok(!failure.message.includes(String(value)))
  return true
}

/** Makes everything in the database eleven seconds older. */
const pass = () =>
  runSql(
    url,
    `update node_setting set stored_at = stored_at - interval '11 seconds';
     update node_message set sent_at = sent_at - interval '11 seconds'`,
  )

const other = { ...SETTINGS, BONDED_PUBLIC_ORIGIN: 'https://other.example' }

test('a node whose settings differ from those of a node that starts is rejected, and they are named', async () => {
  const node = await startNode(SETTINGS)
  await startNode(SETTINGS)
  await assert.rejects(startNode(other), namesOnly('BONDED_PUBLIC_ORIGIN', { a: 'other.example' }))
  const both = { ...other, BONDED_TRUST_PROXY: '10.9.8.0/24' }
  const names = 'BONDED_PUBLIC_ORIGIN and BONDED_TRUST_PROXY'
  await assert.rejects(startNode(both), namesOnly(names, { a: '10.9.8.0' }))
  await pass()
  // The node runs: it sends messages.
  await node.messages?.exchange({ number: 1, text: '' })
  await assert.rejects(startNode(other), namesOnly('BONDED_PUBLIC_ORIGIN', { a: 'other.example' }))
})

test('a command is not rejected, because it serves nothing', async () => {
  await startNode()
})

test('doctor names the setting that differs', async () => {
  using operator = machine({
    env: {
      BONDED_DATABASE_URL: url,
      BONDED_PUBLIC_ORIGIN: 'https://bond.example',
      BONDED_TRUST_PROXY: '2',
    },
  })
  // The nodes of this process go on meanwhile: others count a silent one as stopped.
  const failed = await operator.jsonMeanwhile('doctor').catch((error: unknown) => error)
  const { code, stdout } = failed as { readonly code: number; readonly stdout: string }
  assert.equal(code, 1)
  assert.match(stdout, /BONDED_TRUST_PROXY of this node differs from/)
})

test('a setting that a newer version has stored in PostgreSQL is a warning', async () => {
  const ran = (env: Readonly<Record<string, string>>, ...args: string[]) => {
    using operator = machine({ env: { BONDED_DATABASE_URL: url, ...env } })
    return operator.run(...args)
  }
  const newer = { BONDED_FUTURE: 'on' }
  assert.equal(ran(newer, 'migrate', 'up').status, 2)
  assert.equal(ran({}, 'migrate', 'up').status, 0)
  const [stored] = await runSql(url, 'select count(*) as n from known_setting')
  assert.ok(Number(stored?.n) > 30, 'a migration stores the settings of its version')
  await runSql(url, `insert into known_setting values ('BONDED_FUTURE', '12.0.0')`)
  const { status, stderr } = ran(newer, 'config', 'check')
  assert.deepEqual([status, /BONDED_FUTURE .* version 12\.0\.0/.test(stderr)], [0, true], stderr)
  const { port } = new URL(url)
  const away = { ...newer, BONDED_DATABASE_URL: url.replace(`:${port}/`, ':1/') }
  const unread = ran(away, 'config', 'check')
  assert.equal(unread.status, 2)
  assert.match(unread.stderr, /BONDED_FUTURE: is set.*BONDED_DATABASE_URL: cannot be read/s)
})

test('the settings are stored as salted hashes', async () => {
  const rows = await runSql(url, 'select name, salt, hash from node_setting order by name')
  assert.deepEqual(
    rows.map(({ name }) => name),
    Object.keys(SETTINGS),
  )
  assert.equal(new Set(rows.map(({ salt }) => salt)).size, rows.length)
  for (const { hash } of rows) assert.match(String(hash), /^[0-9a-f]{64}$/)
})

test('settings change after all nodes have stopped', async () => {
  await pass()
  await startNode(other)
  await assert.rejects(
    startNode(SETTINGS),
    namesOnly('BONDED_PUBLIC_ORIGIN', { a: 'https://bond.example' }),
  )
})
