import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId, RequestId, SessionId, SubjectId, TenantId } from '@bonded/contract'
import type { Tenant } from '../../../core/src/domain/tenant.ts'
import type { Tables } from '../../../core/src/ports/store.ts'
import type { Work } from '../../../core/src/ports/work.ts'
import { cachedDriver, sqlDriver } from './table-drivers.ts'
import {
  DEVICES,
  newDevice,
  newSession,
  NOW,
  registerDevices,
  SESSIONS,
  SUBJECTS,
  TENANTS,
} from './table-operations.ts'

const [tenantId, other] = TENANTS as [TenantId, TenantId]
const [subjectId] = SUBJECTS as [SubjectId]
const [one, two] = SESSIONS as [SessionId, SessionId]
/** A passkey, whose counter may stay 0. */
const passkey = DEVICES[2] as DeviceId

test('a request of a key without a counter is used once, and only if it is later than the last', async () => {
  await using driver = sqlDriver()
  await driver.write(registerDevices)
  const use = (counter: number, at: number, id = passkey) =>
    driver.write(({ devices }) => devices.useRequest(id, counter, NOW + at))
  assert.deepEqual([await use(0, 5), await use(0, 5), await use(0, 4)], [true, false, false])
  assert.deepEqual([await use(0, 6), await use(1, 2), await use(1, 9)], [true, true, false])
  const found = await driver.read(({ devices }) => devices.find(passkey))
  assert.deepEqual([found?.counter, found?.lastIssuedAt], [1, NOW + 6])
  // A key of an app has a counter, which rises with each request.
  const phone = DEVICES[0] as DeviceId
  assert.deepEqual([await use(0, 5, phone), await use(1, 5, phone)], [false, true])
})

test('an inbox has a request from its creation until before its end', async () => {
  await using driver = sqlDriver()
  const session = { ...newSession(one), inboxSubjectId: subjectId, expiresAt: NOW + 10 }
  await driver.write(({ sessions }) => sessions.create(session))
  const waiting = (from: number, now: number) =>
    driver.read(function* ({ sessions }) {
      const query = { device: newDevice(0), from: NOW + from, now: NOW + now }
      const found = yield* sessions.waiting(query)
      assert.equal(yield* sessions.countWaiting(query), found.length)
      return found.length
    })
  assert.deepEqual([await waiting(-1, -1), await waiting(0, 0), await waiting(1, 1)], [0, 1, 0])
  assert.deepEqual([await waiting(0, 9), await waiting(0, 10)], [1, 0])
})

test('each end of a request changes the counts of its credential, user and tenant as it should', async () => {
  const counts = (approval: number, answer: number) => ({ approval, answer })
  for (const [what, expected] of [
    ['asked', counts(4, 4)],
    ['withdrawn', counts(2, 2)],
    ['declined', counts(3, 0)],
    ['approved', counts(0, 0)],
  ] as const) {
    await using driver = sqlDriver()
    const of = (id: SessionId, tenant: TenantId, subject: SubjectId) => ({
      ...newSession(id, tenant),
      inboxSubjectId: subject,
    })
    const sessions = [
      of(one, tenantId, subjectId),
      of(two, other, subjectId),
      of('sess_c' as SessionId, tenantId, SUBJECTS[2] as SubjectId),
    ] as const
    const cause = { requestId: 'req_a' as RequestId, keyId: 'key_a' }
    await driver.write(function* (tables) {
      for (const session of sessions) {
        yield* tables.sessions.create(session)
        for (let index = 0; index < 3; index++)
          yield* tables.sessions.countRequest(session, 'asked')
      }
    }, cause)
    await driver.write((tables) => tables.sessions.countRequest(sessions[0], what))
    const asked = (
      { tenantId: tenant, inboxSubjectId }: (typeof sessions)[number],
      caller = 'key_a',
    ) =>
      driver.read((tables) =>
        tables.sessions.askedSince({
          tenantId: tenant,
          subjectId: inboxSubjectId,
          caller,
          now: NOW,
        }),
      )
    assert.deepEqual(await asked(sessions[0]), expected, what)
    for (const session of [sessions[1], sessions[2]])
      assert.deepEqual(await asked(session), counts(3, 3), what)
    assert.deepEqual(await asked(sessions[0], 'key_b'), counts(0, 0))
    // Three days after the last request, the waits of the credential begin anew.
    const later = (now: number) =>
      driver.read((tables) =>
        tables.sessions.askedSince({ tenantId: other, subjectId, caller: 'key_a', now }),
      )
    const days = 3 * 24 * 60 * 60_000
    assert.deepEqual(await later(NOW + days - 1), counts(3, 3))
    assert.deepEqual(await later(NOW + days), counts(0, 3))
  }
})

/** Every write of the table of tenants, in an order in which each changes what a caller reads. */
const TENANT_WRITES: Readonly<
  Record<string, (tenants: Tables['tenants'], before: Tenant) => Work<unknown>>
> = {
  update: (tenants, before) =>
    tenants.update(before, { ...before, name: 'New', origins: ['https://new.example'] }),
  setLimits: (tenants) => tenants.setLimits(tenantId, {}),
  setLogo: (tenants) => tenants.setLogo(tenantId, { name: 'new.svg', bytes: Uint8Array.of(1) }),
  setNotifies: (tenants) => tenants.setNotifies(tenantId, true),
  setSuspended: (tenants) => tenants.setSuspended(tenantId, NOW),
  revokeServer: (tenants) => tenants.revoke('key', NOW),
  unrevokeServer: (tenants) => tenants.unrevoke('key', { from: NOW, expiresAt: null }),
  revokePublishable: (tenants) => tenants.revoke('pk', NOW),
  unrevokePublishable: (tenants) => tenants.unrevoke('pk', { from: NOW, expiresAt: null }),
  removeRows: (tenants) => tenants.removeRows(tenantId, 9),
  remove: (tenants) => tenants.remove(tenantId),
}

test('every change of a tenant or a key is read at the next call, also from the cache', async () => {
  await using sql = sqlDriver()
  await using cached = cachedDriver()
  const readAll = (driver: typeof sql) =>
    driver.read(function* ({ tenants }) {
      const origins: boolean[] = []
      for (const name of ['old', 'new'])
        origins.push(yield* tenants.knowsOrigin(`https://${name}.example`))
      return [
        yield* tenants.find(tenantId),
        yield* tenants.findServerCredential('key'),
        yield* tenants.findPublishableKey('pk'),
        origins,
      ]
    })
  for (const driver of [sql, cached])
    await driver.write(function* ({ tenants }) {
      const [before] = yield* tenants.list()
      assert.equal(before?.id, tenantId)
      yield* tenants.update(before, { ...before, origins: ['https://old.example'] })
      const add = { tenantId, scope: null, now: NOW - 1 }
      yield* tenants.addServerCredential({
        ...add,
        keyId: 'key',
        hash: Uint8Array.of(7),
        last4: 'l',
      })
      yield* tenants.addPublishableKey({ ...add, key: 'pk' })
    })
  for (const [name, write] of Object.entries(TENANT_WRITES)) {
    assert.deepEqual(await readAll(cached), await readAll(sql), `before ${name}`)
    for (const driver of [sql, cached])
      await driver.write(function* ({ tenants }) {
        const before = (yield* tenants.find(tenantId)) ?? assert.fail('there is no tenant')
        yield* write(tenants, before)
      })
    assert.deepEqual(await readAll(cached), await readAll(sql), name)
  }
})
