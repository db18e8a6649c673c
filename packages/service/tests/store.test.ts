import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { DeviceId, SessionId } from '@bonded/contract'
import { MOVES } from '../src/domain/transitions.ts'
import { MigrationError, migrate, migrationStates } from '../src/adapters/sql/migrate.ts'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { harness } from './harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const { store, clock } = h.service

test('a unit that throws undoes only itself, though it shares its transaction with others', async () => {
  const [kept, doomed] = [await h.create(), await h.create()]
  const move = (id: string) => store.write((tables) => tables.sessions.move(id as SessionId, MOVES.kill, { now: clock.now() }))
  const thrown = store.write(function* (tables) {
    yield* tables.sessions.move(doomed.id as SessionId, MOVES.kill, { now: clock.now() })
    throw new Error('on purpose')
  })
  const [moved] = await Promise.all([move(kept.id), assert.rejects(thrown, /on purpose/)])
  assert.equal(moved?.state, 'killed')
  assert.equal((await h.get(kept)).body.state, 'killed')
  assert.equal((await h.get(doomed)).body.state, 'pending')
})

test('of two moves at once exactly one gets the session', async () => {
  const session = await h.create()
  const move = () => store.write((tables) => tables.sessions.move(session.id as SessionId, MOVES.kill, { now: clock.now() }))
  const moved = await Promise.all([move(), move(), move()])
  assert.equal(moved.filter((row) => row !== undefined).length, 1)
  assert.equal((await h.get(session)).body.seq, 2)
})

test('of two phones that claim at once exactly one gets the session, whatever was judged before', async () => {
  const session = await h.create()
  const now = clock.now()
  const claim = (deviceId: string) =>
    store.write((tables) =>
      tables.sessions.claim(session.id as SessionId, { now, deviceId: deviceId as DeviceId, nonce: session.nonce, claimedAt: now }),
    )
  const [first, second, again] = [await claim('dev_one'), await claim('dev_two'), await claim('dev_one')]
  assert.deepEqual([first?.deviceId, second, again?.deviceId, again?.seq], ['dev_one', undefined, 'dev_one', 2])
})

test('a move by a phone fails where another phone, another assertion or the end of its time came first', async () => {
  const session = await h.create()
  const id = session.id as SessionId
  const move = (guard: { deviceId: DeviceId; validAssertions: number }, now = clock.now()) =>
    store.write((tables) => tables.sessions.move(id, MOVES.decline, { now, guard }))
  const ours = { deviceId: 'dev_one' as DeviceId, validAssertions: 0 }
  await store.write((tables) =>
    tables.sessions.claim(id, { now: clock.now(), deviceId: ours.deviceId, nonce: session.nonce, claimedAt: clock.now() }),
  )
  assert.equal(await move({ ...ours, deviceId: 'dev_two' as DeviceId }), undefined)
  assert.equal(await move({ ...ours, validAssertions: 1 }), undefined)
  assert.equal(await move(ours, Date.parse(session.expires_at)), undefined)
  assert.equal((await move(ours))?.state, 'killed')
})

test('nothing is told of a change before it is durable, nor of one that was undone', async () => {
  const session = await h.create()
  const heard: number[] = []
  h.service.bus.subscribe(session.id as SessionId, ({ seq }) => heard.push(seq))
  await assert.rejects(
    store.write(function* (tables) {
      yield* tables.sessions.hint(session.id as SessionId, 'scanned', clock.now())
      assert.deepEqual(heard, [])
      throw new Error('undone')
    }),
  )
  assert.deepEqual(heard, [])
  await store.write((tables) => tables.sessions.hint(session.id as SessionId, 'scanned', clock.now()))
  assert.deepEqual(heard, [2])
})

test('a revoked key stops working with the very next call', async () => {
  const keys = await h.addKeys(h.shop.tenant, null)
  const session = await h.create()
  assert.equal((await h.get(session, keys)).status, 200)
  await store.write((tables) => tables.tenants.revoke(keys.server.slice(8, 18), clock.now()))
  assert.equal((await h.get(session, keys)).status, 401)
})

test('what ended a day ago is deleted, with all that belongs to it', async () => {
  const session = await h.create()
  await h.kill(session)
  h.clock.advance(24 * 60 * 60_000 + 1)
  const forgotten = await store.write((tables) => tables.sessions.forget(clock.now() - 24 * 60 * 60_000, 1_000))
  assert.ok(forgotten >= 0)
  assert.equal(await store.read((tables) => tables.sessions.find(session.id as SessionId)), undefined)
  assert.deepEqual(await store.read((tables) => tables.sessions.timeline(session.id as SessionId)), [])
})

test('a database of a newer program, or with a changed step, is left alone', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bonded-migrate-')), 'b.db')
  assert.ok(migrate(file, 0).length > 0)
  assert.deepEqual(migrate(file, 0), [])
  assert.ok(migrationStates(file).every(({ appliedAt }) => appliedAt !== null))
  const database = new DatabaseSync(file)
  database.exec(`insert into migration values (99, 'from the future', 'x', 0)`)
  assert.throws(() => migrate(file, 0), MigrationError)
  database.exec(`delete from migration where number = 99; update migration set checksum = 'other' where number = 1`)
  assert.throws(() => migrate(file, 0), MigrationError)
  database.close()
})
