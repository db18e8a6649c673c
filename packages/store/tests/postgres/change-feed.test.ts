import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import pg from 'pg'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import type { Session } from '../../../core/src/domain/session.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import type { ChangeNotification } from '../../../core/src/ports/bus.ts'
import type { Store } from '../../../core/src/ports/store.ts'
import { runSql } from '../servers/postgres.ts'
import { postgresDatabase } from '../servers/test-database.ts'
import { newDevice, newSession, newToken, NOW } from '../tables/table-operations.ts'

const database = await postgresDatabase()
const bus = localBus()
const open = async (on = localBus()) => (await database.openStore(NOW))({ bus: on, meter: noMeter })
const [writer, watcher] = [await open(), await open(bus)]
after(async () => {
  for (const store of [writer, watcher]) await store[Symbol.asyncDispose]()
  await database.drop()
})

let sessions = 0
async function newStoredSession(): Promise<Session> {
  const session = newSession(writer.newSessionId(NOW, new Uint8Array(16).fill(sessions++)))
  await writer.write((tables) => tables.sessions.create(session))
  return session
}

const hint = async (store: Store, from: Session, to: 'scanned' | 'evaluating') =>
  (await store.write((tables) => tables.sessions.hint(from, to, NOW))) as Session

/** What the watching node learns of the session until it knows the event. */
function watch({ id }: Session) {
  const notified: ChangeNotification[] = []
  let known = Promise.withResolvers<void>()
  const end = bus.subscribe(id, (notification) => {
    notified.push(notification)
    known.resolve()
  })
  const until = async (seq: number) => {
    while ((notified.at(-1)?.seq ?? 0) < seq) {
      await known.promise
      known = Promise.withResolvers()
    }
    end()
    return notified
  }
  return { until }
}

test('a notification of another node’s changes contains a watched session and each of its events once', async () => {
  await watcher.externalChanges()
  const session = await newStoredSession()
  await watcher.externalChanges()
  const watching = watch(session)
  const evaluating = await hint(writer, await hint(writer, session, 'scanned'), 'evaluating')
  const killed = await writer.write((tables) =>
    tables.sessions.move(evaluating, MOVES.kill, { now: NOW }),
  )
  const notified = await watching.until(4)
  assert.deepEqual(
    notified.flatMap(({ change }) => change?.events.map(({ seq, state }) => [seq, state])),
    [
      [2, 'pending'],
      [3, 'pending'],
      [4, 'killed'],
    ],
  )
  assert.deepEqual(notified.at(-1)?.change?.session, killed)
  for (const { seq, change } of notified) {
    assert.equal(change?.session.seq, seq)
    assert.equal(change.events.at(-1)?.seq, seq)
  }
})

test('a notification contains the changes of another node after those of this node, and not these', async () => {
  const session = await newStoredSession()
  const watching = watch(session)
  const scanned = await hint(watcher, session, 'scanned')
  await hint(writer, scanned, 'evaluating')
  const ofOther = (await watching.until(3)).at(-1)?.change
  assert.deepEqual(
    [ofOther?.session.hint, ofOther?.events.map(({ seq }) => seq)],
    ['evaluating', [3]],
  )
})

test('a session without watchers is named and not read', async () => {
  const own = localBus()
  const found: ChangeNotification[] = []
  // A notification makes the node read too, and the change is in the result of one read only.
  own.subscribeAll((notification) => found.push(notification))
  const apart = await open(own)
  await apart.externalChanges()
  const session = await newStoredSession()
  while (found.length === 0)
    for (const notification of await apart.externalChanges()) own.publish(notification)
  assert.deepEqual(found, [
    { sessionId: session.id, seq: 1, callers: { tenantId: session.tenantId, tokenHash: null } },
  ])
  await apart[Symbol.asyncDispose]()
})

test('a notification names the token of the phone that another node gave the session to', async () => {
  const session = await newStoredSession()
  const device = newDevice(0)
  await writer.write((tables) => tables.devices.register(device, newToken(0)))
  const seen = Promise.withResolvers<ChangeNotification>()
  const end = bus.subscribeAll((notification) => {
    if (notification.callers?.tokenHash != null) seen.resolve(notification)
  })
  await writer.write((tables) =>
    tables.sessions.claim(session, {
      deviceId: device.id,
      nonce: 'nonce',
      now: NOW,
      claimedAt: NOW,
    }),
  )
  const { sessionId, callers } = await seen.promise
  end()
  assert.equal(sessionId, session.id)
  assert.equal(callers?.tenantId, session.tenantId)
  assert.deepEqual(Buffer.from(callers?.tokenHash ?? []), Buffer.from(newToken(0).hash))
})

test('a node learns of a change that was committed after a later one', async () => {
  const own = localBus()
  const found: [SessionId, number][] = []
  own.subscribeAll(({ sessionId, seq }) => found.push([sessionId, seq]))
  await using store = await open(own)
  /** Also what a notification about the new sessions has made the node find before. */
  const next = async () => {
    for (const notification of await store.externalChanges()) own.publish(notification)
    await new Promise((resolve) => setImmediate(resolve))
    return found.splice(0).filter(([, seq]) => seq === 7)
  }
  await next()
  const [slow, fast] = [await newStoredSession(), await newStoredSession()]
  const connection = new pg.Client({ connectionString: database.url })
  await connection.connect()
  const event = (id: SessionId) =>
    `insert into session_event (session_key, seq, at, kind)
     select session_key, 7, 0, 'x' from session where id = '${id}'`
  await connection.query('begin')
  await connection.query(event(slow.id))
  await runSql(database.url, event(fast.id))
  assert.deepEqual(await next(), [[fast.id, 7]])
  await connection.query('commit')
  await connection.end()
  assert.deepEqual(await next(), [[slow.id, 7]])
})
