import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson, type RequestId, type SessionId } from '@bonded/contract'
import type { Tenant } from '../../src/domain/tenant.ts'
import { WakeUps } from '../../src/collections/wake-ups.ts'
import { cancelSession } from '../../src/operations/session/cancel-session.ts'
import { createSession, type SessionRequest } from '../../src/operations/session/create-session.ts'
import { expireSessions } from '../../src/operations/maintenance/expire-sessions.ts'
import type { BackendCaller, Service } from '../../src/operations/service.ts'
import type { ChangeNotification } from '../../src/ports/bus.ts'
import { MOVES } from '../../src/protocol/states.ts'
import { CREATED_AT, tenantWith } from '../records.ts'
import { memoryStore } from './memory-store.ts'

/** What these operations work with, and what they announce. */
function start() {
  const announced: ChangeNotification[] = []
  let now = CREATED_AT
  let ids = 0
  const parts = {
    store: memoryStore({ publish: (notification) => void announced.push(notification) }),
    clock: { now: () => now },
    wakeUps: new WakeUps(),
    random: { id: () => Uint8Array.from({ length: 16 }, () => ids++ % 256) },
    keys: {
      currentKeyId: 'k1',
      holds: (id: string) => id === 'k1',
      bodyMac: (id: string, body: string) => `${id} ${body}`,
      same: (a: string, b: string) => a === b,
      sealNumber: (id: string, session: string, number: string) =>
        canonicalJson([id, session, number.length]),
      watchTokenKeyId: (id: string, token: string) => (token === `watch ${id}` ? 'k1' : undefined),
    },
  }
  const service = parts as unknown as Service
  const backend = (tenant: Tenant = tenantWith()) =>
    ({ kind: 'backend', credential: { keyId: 'key', tenant, scope: null } }) as BackendCaller
  const create = async (request: SessionRequest = {}, idempotencyKey?: string) => {
    const created = await createSession(service, backend(), { request, idempotencyKey })
    return created.ok ? created.value : assert.fail(created.rejection.reason)
  }
  return {
    service,
    announced,
    create,
    reject: async (request: SessionRequest, idempotencyKey?: string, tenant?: Tenant) => {
      const created = await createSession(service, backend(tenant), { request, idempotencyKey })
      return created.ok ? assert.fail('it was created') : created.rejection.reason
    },
    cancel: (id: SessionId, watchToken: string | undefined = `watch ${id}`) =>
      cancelSession(
        service,
        { key: { tenant: tenantWith(), scope: null } as never },
        { id, watchToken },
      ),
    find: (id: SessionId) => service.store.read((tables) => tables.sessions.find(id)),
    advance: (ms: number) => (now += ms),
  }
}

test('create: stores a pending session, announces it, and seals the number', async () => {
  const { create, find, announced } = start()
  const session = await create({ phone_number: '+49123' })
  assert.deepEqual(await find(session.id), session)
  assert.deepEqual([session.state, session.workflow, session.action], ['pending', 'wire', 'send'])
  assert.ok(session.sealedPhoneNumber && !session.sealedPhoneNumber.includes('+49123'))
  assert.deepEqual(
    announced.map(({ sessionId, seq }) => [sessionId, seq]),
    [[session.id, 1]],
  )
})

test('create: the same idempotency key and body return the same session', async () => {
  const { create, reject, announced } = start()
  const first = await create({ subject_ref: 'user-1' }, 'key')
  assert.equal((await create({ subject_ref: 'user-1' }, 'key')).id, first.id)
  assert.equal(await reject({ subject_ref: 'user-2' }, 'key'), 'idempotency_mismatch')
  assert.equal(announced.length, 1)
  assert.notEqual((await create({ subject_ref: 'user-1' }, 'other key')).id, first.id)
})

test('create: an idempotency key works again once its session can no longer be read', async () => {
  const { create, advance } = start()
  const first = await create({}, 'key')
  advance(first.sessionTtlMs)
  assert.deepEqual(
    [(await create({}, 'key')).id, (await create({}, 'key')).state],
    [first.id, 'expired'],
  )
  advance(60 * 60_000)
  assert.notEqual((await create({}, 'key')).id, first.id)
})

test('create: stores nothing when it rejects', async () => {
  const { reject, announced } = start()
  const workflows = [{ name: 'wire', actions: ['send'], subject: 'required' as const }]
  assert.equal(await reject({}, 'key', tenantWith({ workflows })), 'subject_required')
  assert.equal(await reject({ workflow: 'loan' }), 'workflow_unknown')
  assert.equal(announced.length, 0)
})

test('cancel: ends a session that waits for its phone, and a repetition returns the same', async () => {
  const { create, cancel, advance, announced } = start()
  const { id } = await create()
  advance(1_000)
  const canceled = await cancel(id)
  assert.ok(canceled.ok)
  const { state, endedReason, endedAt } = canceled.value
  assert.deepEqual([state, endedReason, endedAt], ['killed', 'canceled', CREATED_AT + 1_000])
  advance(1_000)
  assert.deepEqual(await cancel(id), canceled)
  assert.equal(announced.length, 2)
})

test('cancel: a wrong watch token, or none, finds nothing and changes nothing', async () => {
  const { create, cancel, find } = start()
  const session = await create()
  for (const token of ['watch', '', `watch ${session.id}x`])
    assert.deepEqual(await cancel(session.id, token), {
      ok: false,
      rejection: { reason: 'session_not_found' },
    })
  assert.deepEqual(await find(session.id), session)
})

test('cancel: a bond that was stored first stays', async () => {
  const { service, create, cancel, advance } = start()
  const session = await create()
  advance(1)
  const bonded = await service.store.write((tables) =>
    tables.sessions.move(session, MOVES.bond, { now: service.clock.now() }),
  )
  assert.deepEqual(await cancel(session.id), { ok: true, value: bonded })
})

test('cancel: a session whose time is over is expired, and its end is stored', async () => {
  const { create, cancel, find, advance } = start()
  const session = await create()
  advance(session.sessionTtlMs)
  const found = await cancel(session.id)
  assert.ok(found.ok)
  assert.deepEqual([found.value.state, found.value.endedAt], ['expired', session.expiresAt])
  assert.deepEqual(await find(session.id), found.value)
})

test('expire: ends each overdue session once, at its own expiry', async () => {
  const { service, create, find, advance, announced } = start()
  const first = await create()
  advance(1_000)
  const second = await create()
  advance(first.sessionTtlMs - 1_000)
  assert.deepEqual(await expireSessions(service), { done: 1, more: false })
  assert.equal((await find(second.id))?.state, 'pending')
  advance(10_000)
  assert.deepEqual(await expireSessions(service), { done: 1, more: false })
  assert.deepEqual(await expireSessions(service), { done: 0, more: false })
  for (const { id, expiresAt } of [first, second])
    assert.equal((await find(id))?.endedAt, expiresAt)
  assert.equal(announced.length, 4)
})

test('a unit that throws stores and announces nothing', async () => {
  const { service, create, find, announced } = start()
  const session = await create()
  const by = { requestId: 'req_1' as RequestId, keyId: null }
  await assert.rejects(
    service.store.during(by).write(function* (tables) {
      yield* tables.sessions.move(session, MOVES.kill, { now: CREATED_AT })
      yield* tables.sessions.countFailure(session.id, 'dev_1' as never)
      throw new Error('an outage')
    }),
  )
  assert.deepEqual(await find(session.id), session)
  assert.equal(announced.length, 1)
  const timeline = await service.store.read((tables) => tables.sessions.timeline(session.id))
  assert.deepEqual(
    timeline.map(({ kind }) => kind),
    ['created'],
  )
})
