import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { type Connection, Connections } from '../../../store/src/postgres/server/connections.ts'
import { openPostgres } from '../../../store/src/postgres/open-postgres.ts'
import type { Row } from '../../../store/src/statement.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { type Store, StoreError } from '../../../core/src/ports/store.ts'
import { ROOT_KEY } from '../../../../tests/harness/harness.ts'
import type { PostgresServer } from '../../../store/tests/servers/postgres.ts'
import { until } from '../../../../tests/harness/process.ts'
import { startReplicated } from '../../../../tests/harness/standby.ts'
import { settingsOf } from '../../../store/tests/servers/test-database.ts'
import { newSession, NOW } from '../../../store/tests/tables/table-operations.ts'

const WITHIN_MS = 60_000
const { idKeys } = keyringOf([ROOT_KEY])
const servers = await startReplicated()
after(() => servers[Symbol.asyncDispose]())
const { primary, standby } = servers
const both = await servers.newDatabase()

const openStores: Store[] = []
after(async () => {
  for (const store of openStores) await store[Symbol.asyncDispose]()
})
async function openNode(url: string, bus = localBus()): Promise<Store> {
  const open = await openPostgres(settingsOf(url), { now: NOW, idKeys })
  const store = open({ bus, meter: noMeter })
  openStores.push(store)
  return store
}

let sessions = 0
async function create(store: Store): Promise<ReturnType<typeof newSession>> {
  const session = newSession(store.newSessionId(NOW, new Uint8Array(16).fill(sessions++)))
  await store.write((tables) => tables.sessions.create(session))
  return session
}
const find = (store: Store, { id }: { id: ReturnType<typeof newSession>['id'] }) =>
  store.read((tables) => tables.sessions.find(id))
/** Repeats a call while the database is away. */
const retried = <T>(call: () => Promise<T>): Promise<T> =>
  until(
    () =>
      call().then(
        (value) => ({ value }),
        (failure: unknown) => {
          assert.ok(failure instanceof StoreError, String(failure))
          return undefined
        },
      ),
    WITHIN_MS,
  ).then(({ value }) => value)
const untilWorks = (store: Store) => retried(() => create(store))

/** Applies a setting of a server to all of its connections. */
async function set(server: PostgresServer, setting: string): Promise<void> {
  await server.run(`alter system ${setting}`)
  await server.run('select pg_reload_conf()')
}

const isOutage = (problem: RegExp) => (failure: unknown) => {
  assert.ok(failure instanceof StoreError, String(failure))
  assert.match(failure.message, problem)
  return true
}

const node = await openNode(both)

test('a start on a standby alone is rejected with the fix', async () => {
  await assert.rejects(openNode(servers.urlOn(standby, both)), isOutage(/it is a standby/))
})

test('a commit that an administrator cut off from its standby is not acknowledged', async () => {
  await standby.stop('immediate')
  const [created] = await Promise.allSettled([
    create(node),
    until(async () => {
      const [row] = await primary.run(
        `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
      )
      return row
    }, WITHIN_MS),
  ])
  assert.ok(created.status === 'rejected' && created.reason instanceof StoreError)
  await standby.start()
  await untilWorks(node)
})

test('a server that becomes read-only is rejected until it can be written again', async () => {
  const session = await create(node)
  await set(primary, 'set default_transaction_read_only = on')
  // Each open connection fails once, and is replaced.
  await until(async () => {
    const failure = await create(node).catch((cause: unknown) => cause)
    if (!(failure instanceof StoreError)) return undefined
    assert.deepEqual(await node.health(), ['store_unwritable'])
    return /default_transaction_read_only is on/.test(failure.message) ? true : undefined
  }, WITHIN_MS)
  await set(primary, 'reset default_transaction_read_only')
  await untilWorks(node)
  assert.deepEqual(await node.health(), [])
  assert.deepEqual(await find(node, session), session)
})

test('a node is not ready while the disk of the server is full, and reads go on', async () => {
  const stored = await create(node)
  const url = servers.urlOn(primary, both)
  await primary.run(
    `create function full_disk() returns trigger language plpgsql as
       $$ begin raise exception 'no space left' using errcode = '53100'; end $$;
     create trigger full_disk before insert on session execute function full_disk()`,
    url,
  )
  await assert.rejects(create(node), isOutage(/the disk is full/))
  assert.deepEqual(await node.health(), ['store_unwritable'])
  assert.deepEqual(await find(node, stored), stored)
  await primary.run('drop trigger full_disk on session', url)
  await create(node)
  assert.deepEqual(await node.health(), [])
})

test('a node follows a failover to the next server of its URL, and never returns to the old one', async () => {
  const before = await create(node)
  await node.externalChanges()
  await primary.stop('immediate')
  await assert.rejects(create(node), StoreError)
  await assert.rejects(find(node, before), StoreError, 'a standby may be behind')
  assert.deepEqual(await node.health(), ['store_unreadable'])
  await standby.run('select pg_promote()')
  const next = await untilWorks(node)
  assert.deepEqual(await find(node, before), before)
  assert.deepEqual(await node.health(), [])

  // The old primary returns as if nothing had happened, and could be written.
  await primary.start()
  await set(primary, 'reset synchronous_standby_names')
  await standby.stop('immediate')
  await assert.rejects(create(node), isOutage(/cannot be/))
  await assert.rejects(find(node, before), StoreError)
  await standby.start()
  await untilWorks(node)
  assert.deepEqual(await find(node, next), next)
  const url = servers.urlOn(primary, both)
  const [{ stored } = {}] = await primary.run('select count(*)::int as stored from session', url)
  const [{ kept } = {}] = await primary.run(
    `select count(*)::int as kept from session where id in ('${before.id}', '${next.id}')`,
    url,
  )
  assert.deepEqual([Number(stored) > 0, kept], [true, 1], 'nothing new on the old primary')
})

test('connections to an old primary are closed once a newer one responds', async () => {
  const name = new URL(servers.urlOn(primary, both)).pathname.slice(1)
  await standby.stop('immediate')
  // Only the old primary responds, so these connections cannot know that it is old.
  await using connections = await Connections.open(settingsOf(both))
  const held = await connections.take()
  const portOf = async (connection: Connection) => {
    const [row] = (await connection.run({
      text: 'select inet_server_port() as port',
      values: [],
    })) as readonly Row[]
    return row?.port
  }
  assert.equal(await portOf(held), primary.port)
  await standby.start()
  // The survey of the servers finds it within a second, without a call.
  await until(
    () =>
      portOf(held).then(
        () => undefined,
        () => true,
      ),
    WITHIN_MS,
  )
  held.release()
  const next = await connections.take()
  assert.equal(await portOf(next), standby.port)
  next.release()
  // The others of this file use the new one.
  await primary.run(`alter database ${name} allow_connections false`)
})

test('a node finds a change whose transaction has the number of one that a crash undid', async () => {
  const url = servers.urlOn(standby, both)
  await set(standby, `set wal_writer_delay = '10s'`)
  const bus = localBus()
  const watching = await openNode(url, bus)
  await watching.externalChanges()
  const session = await create(node)
  const seen = Promise.withResolvers<number>()
  bus.subscribe(session.id, ({ seq }) => seq > session.seq && seen.resolve(seq))
  // Numbers that the log does not have yet, because nothing waits for an aborted transaction.
  await standby.run('begin; select pg_current_xact_id(); rollback;'.repeat(50), url)
  await watching.externalChanges()
  await standby.stop('immediate')
  await standby.start()
  const moved = await retried(() =>
    node.write((tables) => tables.sessions.move(session, MOVES.kill, { now: NOW })),
  )
  assert.equal(moved?.state, 'killed')
  for (const change of await retried(() => watching.externalChanges())) bus.publish(change)
  assert.equal(await seen.promise, moved.seq)
})
