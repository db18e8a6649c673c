import assert from 'node:assert/strict'
import { createServer, connect, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import type { DeviceId, SessionId, SubjectId } from '@bonded/contract'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { MigrationError } from '../../src/migrations/migrate.ts'
import { openPostgres } from '../../src/postgres/open-postgres.ts'
import type { PostgresSettings } from '../../src/postgres/server/connections.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { type Store, StoreError } from '../../../core/src/ports/store.ts'
import { runSql } from '../servers/postgres.ts'
import { startProxy } from '../servers/tcp-proxy.ts'
import { postgresDatabase, ROOT_KEY, settingsOf } from '../servers/test-database.ts'
import { newDevice, newSession, newToken, NOW } from '../tables/table-operations.ts'

const database = await postgresDatabase()
const { idKeys } = keyringOf([ROOT_KEY])
after(() => database.drop())
const openStores = new Set<Store>()
after(async () => {
  for (const store of openStores) await store[Symbol.asyncDispose]()
})

async function openNode(given: Partial<PostgresSettings> = {}, bus = localBus()): Promise<Store> {
  const open = await openPostgres(settingsOf(database.url, given), { now: NOW, idKeys })
  const store = open({ bus, meter: noMeter })
  openStores.add(store)
  return store
}

const [a, b] = [await openNode(), await openNode()]
let sessions = 0
async function newStoredSession(store = a): Promise<ReturnType<typeof newSession>> {
  const id = store.newSessionId(NOW, new Uint8Array(16).fill(sessions++))
  const session = newSession(id)
  await store.write((tables) => tables.sessions.create(session))
  return session
}

const find = (store: Store, id: SessionId) => store.read((tables) => tables.sessions.find(id))

test('a read on any node returns what another node has acknowledged', async () => {
  const session = await newStoredSession()
  assert.deepEqual(await find(b, session.id), session)
  await b.write((tables) => tables.sessions.move(session, MOVES.kill, { now: NOW }))
  assert.equal((await find(a, session.id))?.state, 'killed')
})

test('of moves of one session on two nodes at once exactly one succeeds', async () => {
  for (let round = 0; round < 20; round++) {
    const session = await newStoredSession()
    const move = (store: Store) =>
      store.write((tables) => tables.sessions.move(session, MOVES.kill, { now: NOW }))
    const moved = await Promise.all([move(a), move(b), move(a), move(b)])
    assert.equal(moved.filter((each) => each !== undefined).length, 1)
  }
})

test('a unit that throws undoes only itself, also in a shared transaction', async () => {
  const [kept, undone] = [await newStoredSession(), await newStoredSession()]
  const kill = a.write((tables) => tables.sessions.move(kept, MOVES.kill, { now: NOW }))
  const thrown = a.write(function* (tables) {
    yield* tables.sessions.move(undone, MOVES.kill, { now: NOW })
    throw new Error('on purpose')
  })
  await assert.rejects(thrown, /on purpose/)
  assert.equal((await kill)?.state, 'killed')
  assert.equal((await find(a, undone.id))?.state, 'pending')
})

test('a read that fails leaves no transaction on its connection', async () => {
  const store = await openNode({ poolSize: 2 })
  const [first, second] = [await newStoredSession(), await newStoredSession()]
  for (let round = 0; round < 4; round++)
    await assert.rejects(
      store.read(function* (tables) {
        yield* tables.sessions.find(first.id)
        yield* tables.sessions.find(second.id)
        throw new Error('on purpose')
      }),
      /on purpose/,
    )
  await a.write((tables) => tables.sessions.move(first, MOVES.kill, { now: NOW }))
  for (let round = 0; round < 4; round++)
    assert.equal((await find(store, first.id))?.state, 'killed')
  const moved = await store.write((tables) =>
    tables.sessions.move(second, MOVES.kill, { now: NOW }),
  )
  assert.equal(moved?.state, 'killed')
})

test('a session never has more than 200 notes, from any number of nodes', async () => {
  const session = await newStoredSession()
  const note = (store: Store) =>
    store.write(function* (tables) {
      for (let count = 0; count < 10; count++)
        yield* tables.sessions.note(session.id, { at: NOW, kind: 'note' })
    })
  await Promise.all(Array.from({ length: 30 }, (_, index) => note(index % 2 === 0 ? a : b)))
  const entries = await a.read((tables) => tables.sessions.timeline(session.id))
  assert.equal(entries.length, 200)
})

test('events of a device are numbered without a gap, from any number of nodes', async () => {
  const device = { ...newDevice(0), id: 'dev_numbered' as DeviceId, keyId: 'numbered' }
  await a.write((tables) => tables.devices.register(device, { ...newToken(0), id: 'numbered' }))
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? a : b).write((tables) =>
        tables.devices.record(device.id, { at: NOW, kind: 'token_offered', step: null }),
      ),
    ),
  )
  const events = await b.read((tables) => tables.devices.events(device.id))
  assert.deepEqual(
    events.map(({ seq }) => seq),
    Array.from({ length: 20 }, (_, index) => index + 1),
  )
})

test('a subject never has more keys than allowed, from any number of nodes', async () => {
  const approver = {
    ...newDevice(0),
    id: 'dev_approver' as DeviceId,
    subjectId: 'sub_own' as SubjectId,
    keyId: 'approver',
  }
  await a.write((tables) => tables.devices.register(approver, { ...newToken(0), id: 'approver' }))
  const add = (at: number) =>
    (at % 2 === 0 ? a : b).write(function* (tables) {
      // As every operation on a key does: the approving device is read first.
      yield* tables.devices.find(approver.id)
      const added = {
        ...approver,
        id: `dev_added_${at}` as DeviceId,
        keyId: `added ${at}`,
        addedBy: approver.id,
      }
      return yield* tables.devices.addKey(added, { ...newToken(0), id: `added ${at}` }, 5)
    })
  const added = await Promise.all(Array.from({ length: 16 }, (_, index) => add(index)))
  assert.equal(added.filter(Boolean).length, 4)
})

test('units that wait for each other’s rows all succeed', async () => {
  const [one, other] = [await newStoredSession(), await newStoredSession()]
  const noteBoth = (store: Store, ids: readonly SessionId[]) =>
    store.write(function* (tables) {
      for (const id of ids) yield* tables.sessions.note(id, { at: NOW, kind: 'note' })
    })
  await Promise.all([
    noteBoth(a, [one.id, other.id]),
    noteBoth(b, [other.id, one.id]),
    noteBoth(a, [other.id, one.id]),
    noteBoth(b, [one.id, other.id]),
  ])
  const entries = await a.read((tables) => tables.sessions.timeline(one.id))
  assert.equal(entries.length, 5)
})

test('a lost connection fails no call if nothing was committed, and the store recovers', async () => {
  const session = await newStoredSession()
  await runSql(
    database.url,
    'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
  )
  assert.deepEqual(await find(a, session.id), session)
  const killed = await b.write((tables) => tables.sessions.move(session, MOVES.kill, { now: NOW }))
  assert.equal(killed?.state, 'killed')
})

/** A proxy before the database that loses every response while it is set to. */
async function losingProxy() {
  const { hostname, port } = new URL(database.url)
  const sockets: Socket[] = []
  let loses = false
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    sockets.push(client, upstream)
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.on('data', (bytes) => upstream.write(bytes))
    upstream.on('data', (bytes) => (loses ? client.destroy() : client.write(bytes)))
    upstream.on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = new URL(database.url)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    lose: (value: boolean) => {
      loses = value
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test('has a smaller free part while calls wait for the database', async () => {
  const store = await openNode({})
  const { id } = await newStoredSession()
  assert.equal(store.free?.(), 1)
  const reads = Array.from({ length: 16 }, () => find(store, id))
  assert.equal(store.free?.(), 0.5)
  reads.push(...Array.from({ length: 24 }, () => find(store, id)))
  assert.equal(store.free?.(), -0.25)
  await Promise.all(reads)
  assert.equal(store.free?.(), 1)
})

test('a write whose commit was not confirmed fails with 503 and is not repeated', async () => {
  using proxy = await losingProxy()
  const session = await newStoredSession()
  const store = (await openPostgres(settingsOf(proxy.url), { now: NOW, idKeys }))({
    bus: localBus(),
    meter: noMeter,
  })
  // A write that succeeds, so that the next one is sent at once.
  await store.write((tables) => tables.sessions.note(session.id, { at: NOW, kind: 'note' }))
  const runs: number[] = []
  const moved = store.write(function* (tables) {
    const found = yield* tables.sessions.find(session.id)
    if (found === undefined) return
    runs.push(runs.length)
    yield* tables.sessions.move(found, MOVES.kill, { now: NOW })
    // From here on nothing comes back, so the response to the commit is lost.
    proxy.lose(true)
  })
  await assert.rejects(moved, StoreError)
  assert.equal(runs.length, 1)
  proxy.lose(false)
  // It has taken effect.
  assert.equal((await find(store, session.id))?.state, 'killed')
  await store[Symbol.asyncDispose]()
})

test('calls to a closed store, or to a server that is gone, fail as an outage', async () => {
  const closed = await openNode()
  await closed[Symbol.asyncDispose]()
  openStores.delete(closed)
  const latest = closed.read((tables) => tables.sessions.latest())
  await assert.rejects(latest, StoreError)
  await assert.rejects(
    closed.write((tables) => tables.sessions.latest()),
    StoreError,
  )
  const gone = new URL(database.url)
  gone.port = '1'
  await assert.rejects(openPostgres(settingsOf(gone.href), { now: NOW, idKeys }), StoreError)
})

/** A setting of the database that the service cannot work with, and what the message names. */
const UNSUITABLE = [
  ['synchronous_commit = off', /synchronous_commit is off.*alter role/],
  ['default_transaction_read_only = on', /default_transaction_read_only is on/],
] as const

for (const [setting, message] of UNSUITABLE) {
  test(`a start is rejected with the fix where ${setting}`, async () => {
    const own = await postgresDatabase()
    const name = new URL(own.url).pathname.slice(1)
    await runSql(own.url, `alter database ${name} set ${setting}`)
    await assert.rejects(own.openStore(NOW), (failure) => {
      assert.ok(failure instanceof StoreError)
      assert.equal(failure.kind, 'unsuitable')
      assert.match(failure.message, message)
      return true
    })
    await own.drop()
  })
}

test('nodes that start at once on an empty database migrate it once', async () => {
  const own = await postgresDatabase()
  const opened = await Promise.all(Array.from({ length: 4 }, () => own.openStore(NOW)))
  const stores = opened.map((open) => open({ bus: localBus(), meter: noMeter }))
  for (const store of stores) {
    assert.deepEqual(await store.health(), [])
    await store[Symbol.asyncDispose]()
  }
  await own.drop()
})

test('a node accepts newer steps of the schema only if they expand it', async () => {
  const own = await postgresDatabase()
  const open = async () => {
    const store = (await own.openStore(NOW))({ bus: localBus(), meter: noMeter })
    const health = await store.health()
    await store[Symbol.asyncDispose]()
    return health
  }
  await open()
  await runSql(own.url, `insert into migration values (999, 'newer', 'x', 0, true)`)
  assert.deepEqual(await open(), [])
  await runSql(own.url, `update migration set expands = false where number = 999`)
  await assert.rejects(open(), MigrationError)
  await runSql(own.url, `delete from migration where number = 999`)
  await runSql(own.url, `update migration set checksum = 'other' where number = 1`)
  await assert.rejects(open(), MigrationError)
  await own.drop()
})

test('a store without prepared statements works as one with them', async () => {
  const store = await openNode({ prepared: false })
  const session = await newStoredSession(store)
  assert.deepEqual(await find(store, session.id), session)
})

test('nodes learn of the changes of each other, and watchers get each in its order', async () => {
  const buses = [localBus(), localBus()] as const
  const nodes = await Promise.all(buses.map((bus) => openNode({}, bus)))
  const [one, other] = nodes as [Store, Store]
  const seen: (readonly number[])[] = []
  const look = async () => {
    for (const [index, node] of nodes.entries())
      for (const notification of await node.externalChanges()) buses[index]?.publish(notification)
    // What a notification has found is published in the same turn.
    await new Promise((resolve) => setImmediate(resolve))
  }
  await look()
  const session = await newStoredSession(one)
  await look()
  for (const bus of buses) {
    const numbers: number[] = []
    seen.push(numbers)
    // A read that a notification starts can find a change of its own node before the commit is
    // answered. Watchers ignore what they already have; `own-changes.test.ts` tests the rest.
    bus.subscribe(session.id, ({ seq }) => void (numbers.at(-1) === seq || numbers.push(seq)))
  }
  const hint = (store: Store, from: typeof session, to: 'scanned' | 'evaluating') =>
    store.write((tables) => tables.sessions.hint(from, to, NOW))
  const scanned = await hint(one, session, 'scanned')
  await look()
  await hint(other, scanned as typeof session, 'evaluating')
  await look()
  await look()
  assert.deepEqual(seen, [
    [2, 3],
    [2, 3],
  ])
})

test('a node whose listening connection was cut publishes what it has missed, once and by itself', async () => {
  await using proxy = await startProxy(Number(new URL(database.url).port))
  const through = new URL(database.url)
  through.port = String(proxy.port)
  const bus = localBus()
  const open = await openPostgres(settingsOf(through.href), { now: NOW, idKeys })
  const node = open({ bus, meter: noMeter })
  openStores.add(node)
  await node.externalChanges()
  const session = await newStoredSession()
  const seen: number[] = []
  let isSeen = Promise.withResolvers<void>()
  bus.subscribe(session.id, ({ seq }) => {
    // Whether the node finds the creation before or after this line is left open.
    if (seq === 1) return
    seen.push(seq)
    isSeen.resolve()
  })
  const scanned = await a.write((tables) => tables.sessions.hint(session, 'scanned', NOW))
  await isSeen.promise
  isSeen = Promise.withResolvers()

  proxy.refuse()
  await a.write((tables) => tables.sessions.hint(scanned ?? session, 'evaluating', NOW))
  proxy.restore()
  await isSeen.promise
  assert.deepEqual(seen, [2, 3])
  assert.deepEqual(await node.externalChanges(), [])
})
