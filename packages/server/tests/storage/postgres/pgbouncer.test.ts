import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { localBus } from '../../../src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../src/adapters/keys/keyring.ts'
import { openPostgres } from '../../../../store/src/postgres/open-postgres.ts'
import { MOVES } from '../../../../core/src/protocol/states.ts'
import { noMeter } from '../../../../core/src/ports/meter.ts'
import { type Store, StoreError } from '../../../../core/src/ports/store.ts'
import { ROOT_KEY } from '../../../../../tests/harness/harness.ts'
import { missingPgBouncer, startPgBouncer } from '../../../../../tests/harness/pgbouncer.ts'
import { startPostgres } from '../../../../store/tests/servers/postgres.ts'
import { settingsOf } from '../../../../store/tests/servers/test-database.ts'
import { newSession, NOW } from '../../../../store/tests/tables/table-operations.ts'

const skip = missingPgBouncer()
const { idKeys } = keyringOf([ROOT_KEY])
const server = skip ? undefined : await startPostgres()
const pooler = server && (await startPgBouncer(server))
const direct = (await server?.newDatabase()) ?? ''
const pooled = pooler?.urlOf(direct) ?? ''
const openStores: Store[] = []
after(async () => {
  for (const store of openStores) await store[Symbol.asyncDispose]()
  await pooler?.[Symbol.asyncDispose]()
})

async function openNode(url: string): Promise<Store> {
  // This is what the guide says for a PgBouncer before 1.21, as Debian 12 has it.
  const open = await openPostgres(settingsOf(url, { prepared: false }), { now: NOW, idKeys })
  const store = open({ bus: localBus(), meter: noMeter })
  openStores.push(store)
  return store
}

/**
 * PgBouncer keeps connections that do not have the new settings of the role. The call waits until
 * each has ended: PgBouncer would give a connection that is about to end to the next test.
 */
async function reconnect(): Promise<void> {
  await server?.run(
    "select pg_terminate_backend(pid, 10000) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
  )
}

let sessions = 0
async function newStoredSession(store: Store): Promise<ReturnType<typeof newSession>> {
  const id = store.newSessionId(NOW, new Uint8Array(16).fill(sessions++))
  const session = newSession(id)
  await store.write((tables) => tables.sessions.create(session))
  return session
}

test('a start through PgBouncer is rejected until the role has a statement_timeout', {
  skip,
}, async () => {
  await assert.rejects(openNode(pooled), (failure) => {
    assert.ok(failure instanceof StoreError)
    assert.match(failure.message, /no statement_timeout.*alter role/)
    return true
  })
  for (const setting of [
    `statement_timeout = '5s'`,
    `lock_timeout = '2s'`,
    `idle_in_transaction_session_timeout = '10s'`,
  ])
    await server?.run(`alter role postgres set ${setting}`)
  await reconnect()
})

test('a start through PgBouncer is rejected while the role has defaults that it would replace', {
  skip,
}, async () => {
  const [bytes, isolation] = [
    "bytea_output = 'escape'",
    "default_transaction_isolation = 'serializable'",
  ]
  for (const setting of [bytes, isolation]) await server?.run(`alter role postgres set ${setting}`)
  await reconnect()
  await assert.rejects(
    openNode(pooled),
    (failure) =>
      failure instanceof StoreError &&
      /bytea_output is escape, default_transaction_isolation is serializable.*set bytea_output = 'hex'; alter role/.test(
        failure.message,
      ),
  )
  for (const setting of ['bytea_output', 'default_transaction_isolation'])
    await server?.run(`alter role postgres reset ${setting}`)
  await reconnect()
})

test('prepared statements that the pooler does not keep are rejected at start', {
  skip,
}, async () => {
  await assert.rejects(
    openPostgres(settingsOf(pooled), { now: NOW, idKeys }),
    (failure) =>
      failure instanceof StoreError && /BONDED_DATABASE_PREPARED=off/.test(failure.message),
  )
})

test('nodes that start at once through PgBouncer migrate the database once', { skip }, async () => {
  const nodes = await Promise.all(Array.from({ length: 4 }, () => openNode(pooled)))
  for (const node of nodes) assert.deepEqual(await node.health(), [])
})

test('many writes and reads at once share the few connections of the pooler', {
  skip,
}, async () => {
  const nodes = [await openNode(pooled), await openNode(pooled)]
  const written = await Promise.all(
    Array.from({ length: 60 }, (_, index) => newStoredSession(nodes[index % 2] as Store)),
  )
  const read = await Promise.all(
    written.map(({ id }, index) =>
      (nodes[(index + 1) % 2] as Store).read((tables) => tables.sessions.find(id)),
    ),
  )
  assert.deepEqual(read, written)
  const [contested] = written
  assert.ok(contested)
  const moved = await Promise.all(
    nodes.map((node) =>
      node.write((tables) => tables.sessions.move(contested, MOVES.kill, { now: NOW })),
    ),
  )
  assert.equal(moved.filter((each) => each !== undefined).length, 1)
})

test('a change reaches other nodes through PgBouncer without a notification', {
  skip,
}, async () => {
  const [one, other] = [await openNode(pooled), await openNode(pooled)]
  await other.externalChanges()
  // The read at the beginning of the listening publishes what it finds, so it may take the first.
  let found = false
  for (let tries = 0; tries < 5 && !found; tries++) {
    const { id } = await newStoredSession(one)
    found = (await other.externalChanges()).some(({ sessionId }) => sessionId === id)
  }
  assert.ok(found)
})

test('nodes share limits through PgBouncer', { skip }, async () => {
  const [one, other] = [await openNode(pooled), await openNode(direct)]
  await one.messages?.exchange({ number: 1, text: 'hello' })
  const received = await other.messages?.exchange({ number: 1, text: 'hello' })
  assert.deepEqual(
    received?.map(({ text }) => text),
    ['hello'],
  )
})
