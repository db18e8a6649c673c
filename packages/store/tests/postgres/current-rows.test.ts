import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { DeviceId, SessionId, SubjectId, TenantId } from '@bonded/contract'
import pg from 'pg'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { parseLimits } from '../../../core/src/domain/limits.ts'
import { DEVICE_MOVES } from '../../../core/src/domain/device-moves.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import type { Store, Unit } from '../../../core/src/ports/store.ts'
import type { Work } from '../../../core/src/ports/work.ts'
import { postgresDatabase } from '../servers/test-database.ts'
import { newDevice, newSession, newToken, NOW } from '../tables/table-operations.ts'

const database = await postgresDatabase()
const open = async () => (await database.openStore(NOW))({ bus: localBus(), meter: noMeter })
const [a, b] = [await open(), await open()]
after(async () => {
  for (const store of [a, b]) await store[Symbol.asyncDispose]()
  await database.drop()
})

const ROUNDS = 20
const TENANT = 'ten_current' as TenantId
const DEVICE = 'dev_current' as DeviceId
const SUBJECT = 'sub_current' as SubjectId
const device = { ...newDevice(0), id: DEVICE, subjectId: SUBJECT, keyId: 'key_current' }
const tenant = {
  id: TENANT,
  name: 'Memory',
  environment: 'sandbox' as const,
  demo: false,
  origins: ['https://0.example'],
  workflows: [],
}
const session = newSession(a.newSessionId(NOW, new Uint8Array(16)), TENANT)

await a.write(function* ({ tenants, devices, sessions }) {
  yield* tenants.create(tenant, NOW)
  yield* tenants.addServerCredential({
    keyId: 'key_id_current',
    tenantId: TENANT,
    hash: new Uint8Array([1]),
    last4: 'last',
    scope: null,
    now: NOW,
  })
  yield* tenants.addPublishableKey({ key: 'pk_current', tenantId: TENANT, scope: null, now: NOW })
  yield* devices.register(device, { ...newToken(0), id: 'token_current' })
  yield* sessions.create(session)
})

/** Reads of each kind of row that calls use, with a change of what they read. */
const READS: Readonly<
  Record<string, { read: Unit<unknown>; change: (round: number) => Unit<unknown> }>
> = {
  'a session': {
    read: ({ sessions }) => sessions.find(session.id),
    change: (round) =>
      function* ({ sessions }) {
        const found = yield* sessions.find(session.id)
        const hint = round % 2 === 0 ? 'scanned' : 'evaluating'
        return found && (yield* sessions.hint(found, hint, NOW))
      },
  },
  'a device': {
    read: ({ devices }) => devices.find(DEVICE),
    change: (round) => (tables) => tables.devices.raiseCounter(DEVICE, round + 1, NOW + round),
  },
  'a device token': {
    read: ({ devices }) => devices.findByToken('token_current'),
    change: (round) => (tables) =>
      tables.devices.move(DEVICE, round % 2 === 0 ? DEVICE_MOVES.block : DEVICE_MOVES.unblock),
  },
  'the block of a subject': {
    read: ({ devices }) => devices.findByToken('token_current'),
    change: (round) => (tables) =>
      round % 2 === 0 ? tables.subjects.block(SUBJECT, NOW) : tables.subjects.unblock(SUBJECT),
  },
  'the motion of a device': {
    read: ({ devices }) => devices.motion(DEVICE),
    change: (round) => (tables) =>
      tables.devices.storeMotion(DEVICE, {
        keyId: 'k1',
        windows: [{ at: NOW + round, fingerprints: [round] }],
      }),
  },
  'the continuity of a device': {
    read: ({ sessions }) => sessions.deviceStats(session, device),
    change: (round) => (tables) =>
      tables.sessions.storeContinuity({
        tenantId: TENANT,
        deviceId: DEVICE,
        mean: 1 / (round + 2),
        now: NOW,
      }),
  },
  'the failures of a device on a session': {
    read: ({ sessions }) => sessions.deviceStats(session, device),
    change: () => (tables) => tables.sessions.countFailure(session.id, DEVICE),
  },
  'a tenant': {
    read: ({ tenants }) => tenants.find(TENANT),
    change: (round) => (tables) =>
      tables.tenants.setLimits(TENANT, parseLimits(`create=${round + 1}`) ?? {}),
  },
  'the tenant of a server credential': {
    read: ({ tenants }) => tenants.findServerCredential('key_id_current'),
    change: (round) => updateTenant(round),
  },
  'the tenant of a publishable key': {
    read: ({ tenants }) => tenants.findPublishableKey('pk_current'),
    change: (round) => updateTenant(ROUNDS + round),
  },
  'a revoked server credential': {
    read: ({ tenants }) => tenants.findServerCredential('key_id_current'),
    change: (round) => (tables) => tables.tenants.revoke('key_id_current', NOW - round),
  },
  'a revoked publishable key': {
    read: ({ tenants }) => tenants.findPublishableKey('pk_current'),
    change: (round) => (tables) => tables.tenants.revoke('pk_current', NOW - round),
  },
}

function updateTenant(round: number): Unit<boolean> {
  return function* ({ tenants }): Work<boolean> {
    const before = yield* tenants.find(TENANT)
    return before !== undefined && (yield* tenants.update(before, { ...before, name: `${round}` }))
  }
}

for (const [name, { read, change }] of Object.entries(READS))
  test(`a read of ${name} on one node is never older than what another node has acknowledged before it`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const before = [await a.read(read), await b.read(read)]
      assert.deepEqual(before[0], before[1])
      const [writer, reader] = round % 3 === 0 ? [b, a] : [a, b]
      await writer.write(change(round))
      const [after, own] = await Promise.all([reader.read(read), writer.read(read)])
      assert.deepEqual(after, own)
      assert.notDeepEqual(after, before[0])
    }
  })

test('a read of an origin that a command has removed does not find it', async () => {
  const knows = (store: Store) =>
    store.read(({ tenants }) => tenants.knowsOrigin('https://0.example'))
  assert.deepEqual([await knows(a), await knows(b)], [true, true])
  await a.write(function* ({ tenants }) {
    const before = yield* tenants.find(TENANT)
    return before && (yield* tenants.update(before, { ...before, origins: ['https://1.example'] }))
  })
  assert.deepEqual([await knows(a), await knows(b)], [false, false])
})

async function client(): Promise<pg.Client> {
  const connection = new pg.Client({ connectionString: database.url })
  await connection.connect()
  return connection
}

let sessions = 1
async function storedSession(): Promise<SessionId> {
  const id = a.newSessionId(NOW, new Uint8Array(16).fill(sessions++))
  await a.write((tables) => tables.sessions.create(newSession(id, TENANT)))
  return id
}

test('a unit that writes reads the current row, also after a read of an earlier one', async () => {
  const id = await storedSession()
  await b.read((tables) => tables.sessions.find(id))
  await a.write(function* (tables) {
    const found = yield* tables.sessions.find(id)
    return found && (yield* tables.sessions.move(found, MOVES.kill, { now: NOW }))
  })
  const states: unknown[] = []
  await b.write(function* (tables) {
    const found = yield* tables.sessions.find(id)
    states.push(found?.state)
    yield* tables.sessions.note(id, { at: NOW, kind: `was ${found?.state}` })
  })
  assert.equal(states.at(-1), 'killed')
  const kinds = (await a.read((tables) => tables.sessions.timeline(id))).map(({ kind }) => kind)
  assert.deepEqual(kinds.toSorted(), ['created', 'killed', 'was killed'])
})

test('a unit whose row is locked goes on after the wait, so that it reads the time then', async () => {
  const id = await storedSession()
  await b.read((tables) => tables.sessions.find(id))
  const other = await client()
  await other.query('begin')
  await other.query('select 1 from session where id = $1 for update', [id])
  let isFree = false
  const seen: boolean[] = []
  const isWaiting = async () =>
    (
      await other.query(`select 1 from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`)
    ).rowCount !== 0
  const written = b.write(function* (tables) {
    const found = yield* tables.sessions.find(id)
    seen.push(isFree)
    return found && (yield* tables.sessions.hint(found, 'scanned', NOW))
  })
  while (!(await isWaiting())) await new Promise((resolve) => setImmediate(resolve))
  isFree = true
  await other.query('commit')
  await other.end()
  assert.equal((await written)?.hint, 'scanned')
  assert.equal(seen.at(-1), true)
})

test('units of one transaction do not share the failure of another one', async () => {
  const ids = [await storedSession(), await storedSession(), await storedSession()]
  for (const id of ids) await b.read((tables) => tables.sessions.find(id))
  const [changed] = ids
  const kill = (store: Store, id: SessionId) =>
    store.write(function* (tables) {
      const found = yield* tables.sessions.find(id)
      return found && (yield* tables.sessions.move(found, MOVES.kill, { now: NOW }))
    })
  await kill(a, changed as SessionId)
  const killed = await Promise.all(ids.map((id) => kill(b, id)))
  assert.deepEqual(
    killed.map((session) => session?.state),
    [undefined, 'killed', 'killed'],
  )
})

test('bonds of one subject on two nodes at once get the same reference', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const subjectId = `sub_first_${round}` as SubjectId
    const bond = (store: Store, derived: string) => {
      const row = { tenantId: TENANT, subjectId, subjectRef: `${derived} ${round}` }
      return store.write((tables) => tables.devices.pairwise(row))
    }
    const references = await Promise.all([bond(a, 'one'), bond(b, 'two'), bond(a, 'three')])
    assert.equal(new Set(references).size, 1)
    assert.equal(await bond(b, 'four'), references[0])
  }
})

test('a node goes on with its statements after another program has changed the schema', async () => {
  const id = await storedSession()
  const find: Unit<unknown> = ({ sessions }) => sessions.find(id)
  const found = await a.read(find)
  const other = await client()
  for (const change of ['add column later text', 'drop column later']) {
    for (const store of [a, b]) await Promise.all([store.read(find), store.write(find)])
    await other.query(`alter table session ${change}`)
    for (const store of [a, b])
      assert.deepEqual(await Promise.all([store.read(find), store.write(find)]), [found, found])
  }
  await other.end()
})
