import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import type { DeviceId, SessionId } from '@bonded/contract'
import type { Session } from '../../../../core/src/domain/session.ts'
import type { Device } from '../../../../core/src/domain/session.ts'
import { MOVES } from '../../../../core/src/protocol/states.ts'
import { StoreError } from '../../../../core/src/ports/store.ts'
import {
  MigrationError,
  migrate,
  migrationStates,
} from '../../../../store/src/migrations/migrate.ts'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { dueBy } from '../../../../store/tests/tables/table-operations.ts'
import { harness } from '../../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const { store, clock } = h.service
const stored = async ({ id }: { id: string }): Promise<Session> => {
  const session = await store.read((tables) => tables.sessions.find(id as SessionId))
  assert.ok(session)
  return session
}

test('rolls back only the unit that throws in a shared transaction', async () => {
  const [kept, doomed] = [await stored(await h.create()), await stored(await h.create())]
  const move = (session: Session) =>
    store.write((tables) => tables.sessions.move(session, MOVES.kill, { now: clock.now() }))
  const thrown = store.write(function* (tables) {
    assert.ok(yield* tables.sessions.move(doomed, MOVES.kill, { now: clock.now() }))
    throw new Error('on purpose')
  })
  const [moved] = await Promise.all([move(kept), assert.rejects(thrown, /on purpose/)])
  assert.equal(moved?.state, 'killed')
  assert.equal((await h.get(kept)).body.state, 'killed')
  assert.equal((await h.get(doomed)).body.state, 'pending')
})

test('rejects every unit of a failed commit, and stores and publishes nothing', async () => {
  const session = await stored(await h.create())
  const published: number[] = []
  h.service.bus.subscribe(session.id, ({ seq }) => published.push(seq))
  const broken = failing('commit')
  const kill = store.write((tables) =>
    tables.sessions.move(session, MOVES.kill, { now: clock.now() }),
  )
  const note = store.write((tables) =>
    tables.sessions.note(session.id, { at: clock.now(), kind: 'note' }),
  )
  const outcomes = await Promise.allSettled([kill, note])
  broken.restore()
  for (const outcome of outcomes)
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreError)
  assert.deepEqual([published, (await stored(session)).state], [[], 'pending'])
  const timeline = await store.read((tables) => tables.sessions.timeline(session.id))
  assert.deepEqual(
    timeline.map(({ kind }) => kind),
    ['created'],
  )
})

test('rejects a unit whose rollback failed, and stores a later one', async () => {
  const session = await stored(await h.create())
  const broken = failing('rollback')
  const thrown = store.write(function* () {
    yield* []
    throw new Error('on purpose')
  })
  await assert.rejects(thrown, /on purpose/)
  broken.restore()
  const kill = () =>
    store.write((tables) => tables.sessions.move(session, MOVES.kill, { now: clock.now() }))
  await assert.rejects(kill())
  assert.equal((await kill())?.state, 'killed')
})

test('rejects calls to a closed store as an outage', async () => {
  const own = await harness()
  const session = await own.create()
  const { store: closed } = own.service
  await own[Symbol.asyncDispose]()
  const latest = () => closed.read((tables) => tables.sessions.latest())
  const note = () =>
    closed.write((tables) =>
      tables.sessions.note(session.id as SessionId, { at: clock.now(), kind: 'note' }),
    )
  for (const late of [latest, note]) await assert.rejects(late(), StoreError)
})

test('reads the changes of another process in the next write', async () => {
  const session = await stored(await h.create())
  using another = new DatabaseSync(h.databaseFile)
  another.prepare('update session set workflow = ? where id = ?').run('theirs', session.id)
  const seen = await store.write((tables) => tables.sessions.find(session.id))
  assert.equal(seen?.workflow, 'theirs')
})

test('expires a session exactly at expires_at', async () => {
  const session = await stored(await h.create())
  const expire = (now: number) =>
    store.write((tables) => tables.sessions.move(session, MOVES.expire, { now }))
  const isOverdue = async (now: number) =>
    (await store.read((tables) => tables.sessions.overdue(now, 1_000))).some(
      ({ id }) => id === session.id,
    )
  assert.deepEqual(
    [await isOverdue(session.expiresAt - 1), await expire(session.expiresAt - 1)],
    [false, undefined],
  )
  assert.equal(await isOverdue(session.expiresAt), true)
  const expired = await expire(session.expiresAt)
  assert.deepEqual([expired?.state, expired?.endedAt], ['expired', session.expiresAt])
})

test('does not publish an unchanged hint again', async () => {
  const session = await stored(await h.create())
  const hint = (from: Session) =>
    store.write((tables) => tables.sessions.hint(from, 'evaluating', clock.now()))
  const hinted = await hint(session)
  assert.equal(hinted?.seq, 2)
  assert.equal(hinted && (await hint(hinted)), undefined)
  assert.equal((await stored(session)).seq, 2)
})

test('bounds the timeline of a session at 200 entries', async () => {
  const session = await stored(await h.create())
  await store.write(function* (tables) {
    for (let count = 0; count < 250; count++)
      yield* tables.sessions.note(session.id, { at: clock.now(), kind: 'refused' })
  })
  assert.equal((await store.read((tables) => tables.sessions.timeline(session.id))).length, 200)
})

test('reserves timeline entries for the phone that claimed the session', async () => {
  const session = await h.create()
  const [phone, stranger] = [await h.register(), await h.register()]
  await h.claim(phone, session)
  const wrong = { id: session.id, nonce: 'x'.repeat(43) }
  for (let count = 0; count < 250; count++)
    assert.equal((await h.claim(stranger, wrong)).status, 400)
  const timeline = () => store.read((tables) => tables.sessions.timeline(session.id as SessionId))
  assert.equal((await timeline()).length, 100)
  h.clock.advance(1)
  assert.equal((await h.claim(phone, wrong)).status, 400)
  const last = (await timeline()).at(-1)
  assert.deepEqual([last?.at, last?.reason, last?.step], [h.now(), 'nonce_mismatch', 'nonce'])
})

test('keeps the first subject reference of a subject', async () => {
  const name = (subjectRef: string, tenantId = h.shop.tenant.id) =>
    store.write((tables) =>
      tables.devices.pairwise({
        tenantId,
        subjectId: 'sub_named' as Device['subjectId'],
        subjectRef,
      }),
    )
  const other = await h.addTenant({ name: 'Namesake', origins: ['https://namesake.example'] })
  assert.deepEqual(
    [await name('first'), await name('second'), await name('theirs', other.tenant.id)],
    ['first', 'first', 'theirs'],
  )
})

test('exactly one of two concurrent transitions succeeds', async () => {
  const session = await stored(await h.create())
  const move = () =>
    store.write((tables) => tables.sessions.move(session, MOVES.kill, { now: clock.now() }))
  const moved = await Promise.all([move(), move(), move()])
  assert.equal(moved.filter((row) => row !== undefined).length, 1)
  assert.equal((await h.get(session)).body.seq, 2)
})

test('exactly one of two concurrent claims succeeds', async () => {
  const { id } = await h.create()
  const now = clock.now()
  const claim = (session: Session, deviceId: string) =>
    store.write((tables) =>
      tables.sessions.claim(session, {
        now,
        deviceId: deviceId as DeviceId,
        nonce: 'n',
        claimedAt: now,
      }),
    )
  const before = await stored({ id })
  const [first, second] = [await claim(before, 'dev_one'), await claim(before, 'dev_two')]
  assert.deepEqual([first?.deviceId, second], ['dev_one', undefined])
  const after = await stored({ id })
  const [other, again] = [await claim(after, 'dev_two'), await claim(after, 'dev_one')]
  assert.deepEqual([other, again?.deviceId, again?.seq], [undefined, 'dev_one', 2])
})

test('rejects a transition after a claim, another assertion or the expiry', async () => {
  const session = await stored(await h.create())
  const now = clock.now()
  const decline = (from: Session, at = now) =>
    store.write((tables) => tables.sessions.move(from, MOVES.decline, { now: at }))
  const claimed = await store.write((tables) =>
    tables.sessions.claim(session, {
      now,
      deviceId: 'dev_one' as DeviceId,
      nonce: 'n',
      claimedAt: now,
    }),
  )
  assert.ok(claimed)
  assert.equal(await decline(session), undefined)
  assert.equal(await decline({ ...claimed, validAssertions: 1 }), undefined)
  assert.equal(await decline(claimed, session.expiresAt), undefined)
  assert.equal((await decline(claimed))?.state, 'killed')
})

test('the cached row equals the stored row in every state', async () => {
  const context = { digest: 'A'.repeat(43), display: [] }
  for (const state of ['pending', 'step_up_required', 'bonded', 'completed', 'killed'] as const) {
    const { session } = await h.reach(state, {
      workflow: 'credit_application',
      context,
      subject_ref: undefined,
    })
    const kept = await stored(session)
    // A unit that throws drops all that is kept.
    const thrown = store.write(function* (tables) {
      yield* tables.sessions.timeline(kept.id)
      throw new Error('on purpose')
    })
    await assert.rejects(thrown, /on purpose/)
    const read = await stored(session)
    assert.notEqual(read, kept)
    // The request's context has no prototype, and the stored one has.
    assert.deepEqual(structuredClone(read), structuredClone(kept), state)
  }
})

test('announces a change only once it is durable, and never one that was rolled back', async () => {
  const session = await stored(await h.create())
  const published: number[] = []
  h.service.bus.subscribe(session.id, ({ seq }) => published.push(seq))
  await assert.rejects(
    store.write(function* (tables) {
      yield* tables.sessions.hint(session, 'scanned', clock.now())
      assert.deepEqual(published, [])
      throw new Error('undone')
    }),
  )
  assert.deepEqual(published, [])
  await store.write((tables) => tables.sessions.hint(session, 'scanned', clock.now()))
  assert.deepEqual(published, [2])
})

test('rejects a revoked key at the next call', async () => {
  const keys = await h.addKeys(h.shop.tenant, null)
  const session = await h.create()
  assert.equal((await h.get(session, keys)).status, 200)
  await store.write((tables) => tables.tenants.revoke(keys.server.slice(8, 18), clock.now()))
  assert.equal((await h.get(session, keys)).status, 401)
})

test('purges a session that ended 24 hours ago with all of its rows', async () => {
  const session = await h.create()
  await h.kill(session)
  h.clock.advance(24 * 60 * 60_000 + 1)
  const purged = await store.write((tables) =>
    tables.sessions.purge(dueBy(clock.now() - 24 * 60 * 60_000, 1_000)),
  )
  assert.ok(purged.includes(session.id as SessionId))
  assert.equal(
    await store.read((tables) => tables.sessions.find(session.id as SessionId)),
    undefined,
  )
  assert.deepEqual(
    await store.read((tables) => tables.sessions.timeline(session.id as SessionId)),
    [],
  )
})

test('rejects a database of a newer program or with a changed step', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bonded-migrate-')), 'b.db')
  assert.ok(migrate(file, 0).length > 0)
  assert.deepEqual(migrate(file, 0), [])
  assert.ok(migrationStates(file).every(({ appliedAt }) => appliedAt !== null))
  const database = new DatabaseSync(file)
  database.exec(`insert into migration values (99, 'from the future', 'x', 0)`)
  assert.throws(() => migrate(file, 0), MigrationError)
  database.exec(
    `delete from migration where number = 99; update migration set checksum = 'other' where number = 1`,
  )
  assert.throws(() => migrate(file, 0), MigrationError)
  database.close()
})

test('requires an increasing counter, except 0 for a webauthn key', async () => {
  const now = clock.now()
  const raisedBy = async (format: 'webauthn' | 'software', counters: readonly number[]) => {
    const id = `dev_${format}` as DeviceId
    const device = {
      id,
      subjectId: 'sub_counting',
      format,
      keyId: `key of ${format}`,
      publicKey: new Uint8Array(1),
      environment: 'sandbox',
    } as const
    const registered = {
      ...device,
      status: 'active',
      appId: 'x',
      counter: 0,
      lastIssuedAt: null,
      createdAt: now,
    } as unknown as Device
    await store.write((tables) =>
      tables.devices.register(registered, {
        id: `token of ${format}`,
        hash: new Uint8Array(32),
        issuedAt: now,
      }),
    )
    const raised: boolean[] = []
    for (const counter of counters)
      raised.push(await store.write((tables) => tables.devices.raiseCounter(id, counter, now)))
    return raised
  }
  assert.deepEqual(await raisedBy('webauthn', [0, 0, 7, 7, 0, 8]), [
    true,
    true,
    true,
    false,
    false,
    true,
  ])
  assert.deepEqual(await raisedBy('software', [0, 1, 1, 4_294_967_295]), [false, true, false, true])
})

const SQLITE_IOERR = 10

/** Makes every such statement fail like a failed disk until it is restored. */
function failing(statement: 'commit' | 'rollback'): { restore(): void } {
  const run = Reflect.get(StatementSync.prototype, 'run') as (...values: unknown[]) => unknown
  const { mock: broken } = mock.method(
    StatementSync.prototype,
    'run',
    function (this: StatementSync, ...values: unknown[]) {
      if (this.sourceSQL === statement)
        throw Object.assign(new Error('disk I/O error'), {
          code: 'ERR_SQLITE_ERROR',
          errcode: SQLITE_IOERR,
        })
      return Reflect.apply(run, this, values)
    },
  )
  return { restore: () => broken.restore() }
}
