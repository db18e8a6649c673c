import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId, RequestId, SessionId, SubjectId, TenantId } from '@bonded/contract'
import type { RejectionQuery } from '../../../core/src/ports/tables/rejection-table.ts'
import { DEVICE_MOVES } from '../../../core/src/domain/device-moves.ts'
import type { Device, Session } from '../../../core/src/domain/session.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import { cachedDriver, memoryDriver, postgresDriver, sqlDriver } from './table-drivers.ts'
import {
  DEVICES,
  dueBy,
  newDevice,
  newSession,
  newToken,
  NOW,
  registerDevices,
  SESSIONS,
  SUBJECTS,
  TENANTS,
  TOKENS,
} from './table-operations.ts'

const [deviceId] = DEVICES as [DeviceId]
const [sessionId] = SESSIONS as [SessionId]
const [own, , , offered, newer] = TOKENS as [string, string, string, string, string]

/** The suite runs in the tests of every change on SQLite, and once on PostgreSQL. */
const DRIVERS =
  process.env.TEST_STORE === 'postgres'
    ? ([['PostgreSQL', postgresDriver]] as const)
    : ([
        ['SQL', sqlDriver],
        ['cached', cachedDriver],
        ['memory', memoryDriver],
      ] as const)

for (const [kind, open] of DRIVERS) {
  test(`${kind} tables: a token stops working when its device gets another one`, async () => {
    await using driver = await open()
    await driver.write(registerDevices)
    const find = async (tokenId: string) =>
      (await driver.read((tables) => tables.devices.findByToken(tokenId)))?.offered
    const offer = (index: number) =>
      driver.write((tables) => tables.devices.offerToken(deviceId, newToken(index)))

    await offer(3)
    assert.deepEqual([await find(own), await find(offered)], [false, true])
    await offer(4)
    assert.deepEqual([await find(offered), await find(newer)], [undefined, true])
    const use = () => driver.write((tables) => tables.devices.useToken(deviceId, newer))
    assert.deepEqual([await use(), await use()], ['now', 'before'])
    assert.deepEqual([await find(own), await find(newer)], [undefined, false])
  })

  test(`${kind} tables: a blocked device and a blocked subject are read as blocked at once`, async () => {
    await using driver = await open()
    await driver.write(registerDevices)
    const find = () =>
      driver.read(function* (tables) {
        const device = yield* tables.devices.find(deviceId)
        const byToken = yield* tables.devices.findByToken(own)
        assert.deepEqual(byToken?.device, device)
        return [device?.status, device?.subjectBlocked]
      })
    assert.deepEqual(await find(), ['active', false])
    await driver.write((tables) => tables.subjects.block(SUBJECTS[0] as never, NOW))
    assert.deepEqual(await find(), ['active', true])
    await driver.write((tables) => tables.subjects.unblock(SUBJECTS[0] as never))
    await driver.write((tables) => tables.devices.move(deviceId, DEVICE_MOVES.block))
    assert.deepEqual(await find(), ['blocked', false])
    await driver.write((tables) => tables.devices.move(deviceId, DEVICE_MOVES.remove))
    assert.deepEqual(await find(), ['removed', false])
  })

  test(`${kind} tables: a tenant finds a subject by its own reference only, and its block is read at once`, async () => {
    await using driver = await open()
    await driver.write(registerDevices)
    const [subjectId] = SUBJECTS as [SubjectId]
    const [tenantId, other] = TENANTS as [TenantId, TenantId]
    await driver.write(function* (tables) {
      yield* tables.devices.pairwise({ tenantId, subjectId, subjectRef: 'ref' })
      yield* tables.devices.pairwise({ tenantId: other, subjectId, subjectRef: 'other ref' })
      for (const tenant of [tenantId, other])
        yield* tables.sessions.storeContinuity({ tenantId: tenant, deviceId, mean: 1, now: NOW })
    })
    const find = (tenant: TenantId | undefined, ref: string) =>
      driver.read((tables) => tables.subjects.find(tenant, ref))
    const reference = (await find(tenantId, 'ref')) ?? assert.fail('the subject is not found')
    assert.deepEqual(reference, {
      tenantId,
      subjectId,
      subjectRef: 'ref',
      blockedAt: undefined,
      inboxPausedUntil: 0,
      inboxReports: 0,
    })
    assert.equal(await find(other, 'ref'), undefined)
    // Without a tenant, the reference of any.
    assert.deepEqual(await find(undefined, 'ref'), reference)
    assert.equal((await find(undefined, 'other ref'))?.tenantId, other)
    assert.equal(await find(undefined, 'none'), undefined)
    assert.deepEqual(
      await driver.read((tables) => tables.subjects.lastBonds(reference)),
      new Map([[deviceId, NOW]]),
    )
    const blocked = () =>
      driver.read(function* (tables) {
        const states: boolean[] = []
        for (const tenant of [tenantId, other]) {
          const session = newSession(sessionId, tenant)
          const stats = yield* tables.sessions.deviceStats(session, newDevice(0))
          states.push(stats.subjectBlocked)
        }
        return states
      })
    assert.deepEqual(await blocked(), [false, false])
    const block = (now: number) => driver.write((tables) => tables.subjects.blockAt(reference, now))
    assert.deepEqual([await block(NOW + 1), await block(NOW + 2)], [true, false])
    assert.deepEqual(await blocked(), [true, false])
    assert.equal((await find(tenantId, 'ref'))?.blockedAt, NOW + 1)
    const unblock = () => driver.write((tables) => tables.subjects.unblockAt(reference))
    assert.deepEqual([await unblock(), await unblock()], [true, false])
    assert.deepEqual(await blocked(), [false, false])
  })

  test(`${kind} tables: a phone's call gets its device, session, tenant and counts, or nothing`, async () => {
    await using driver = await open()
    const [tenantId] = TENANTS as [TenantId]
    await driver.write(registerDevices)
    await driver.write(function* (tables) {
      yield* tables.sessions.create(newSession(sessionId))
      yield* tables.sessions.countFailure(sessionId, deviceId)
    })
    const rowsOf = (id: SessionId, device: Pick<Device, 'id' | 'subjectId'>) =>
      driver.read((tables) => tables.phoneRows(id, device))
    const rows = (await rowsOf(sessionId, newDevice(0))) ?? assert.fail('nothing is found')
    const tenant = await driver.read((tables) => tables.tenants.find(tenantId))
    assert.deepEqual(
      [rows.device.id, rows.session, rows.tenant, rows.stats.failures],
      [deviceId, newSession(sessionId), tenant, 1],
    )
    assert.equal(tenant?.id, tenantId)
    assert.equal(await rowsOf(SESSIONS[1] as SessionId, newDevice(0)), undefined)
    const unknown = { ...newDevice(0), id: 'dev_none' as DeviceId }
    assert.equal(await rowsOf(sessionId, unknown), undefined)
  })

  test(`${kind} tables: no second subject gets a reference that another one has`, async () => {
    await using driver = await open()
    await driver.write(registerDevices)
    const [subjectId, , other] = SUBJECTS as [SubjectId, SubjectId, SubjectId]
    const [tenantId] = TENANTS as [TenantId]
    const name = (id: SubjectId) =>
      driver.write((tables) =>
        tables.devices.pairwise({ tenantId, subjectId: id, subjectRef: 'ref' }),
      )
    assert.equal(await name(subjectId), 'ref')
    await assert.rejects(async () => name(other))
    assert.equal(await name(subjectId), 'ref')
  })

  test(`${kind} tables: a rejection outlives its session, and is found by tenant and time`, async () => {
    await using driver = await open()
    const [tenantId, other] = TENANTS as [TenantId, TenantId]
    const [own, theirs] = SESSIONS as [SessionId, SessionId]
    await driver.write(function* (tables) {
      yield* tables.sessions.create(newSession(own, tenantId))
      yield* tables.sessions.create(newSession(theirs, other))
    })
    const refuse = (id: SessionId, at: number, subjectRef?: string) =>
      driver.write(
        (tables) =>
          tables.sessions.note(id, { at, kind: 'refused', reason: 'r', step: 's', subjectRef }),
        { requestId: `req_${at}` as RequestId, keyId: null },
      )
    for (const at of [1, 2, 3]) await refuse(own, NOW + at, 'ref')
    await refuse(theirs, NOW + 4)
    const list = async (query: Partial<RejectionQuery>) => {
      const page = await driver.read((tables) =>
        tables.rejections.list({ tenantId, limit: 10, ...query }),
      )
      return [page.rejections.map(({ at }) => at - NOW), page.next && page.next.at - NOW]
    }
    assert.deepEqual(await list({}), [[3, 2, 1], null])
    assert.deepEqual(await list({ limit: 2 }), [[3, 2], 2])
    const before = { at: NOW + 2, requestId: `req_${NOW + 2}` as RequestId }
    assert.deepEqual(await list({ before }), [[1], null])
    assert.deepEqual(await list({ since: NOW + 2, until: NOW + 2 }), [[2], null])
    assert.deepEqual(await list({ subjectRef: 'ref', reason: 'r' }), [[3, 2, 1], null])
    assert.deepEqual(await list({ subjectRef: 'ref', reason: 'other' }), [[], null])
    assert.deepEqual(await list({ sessionId: theirs }), [[], null])
    assert.deepEqual(await list({ tenantId: undefined, sessionId: theirs }), [[4], null])
    const purge = (by: number, limit: number) =>
      driver.write((tables) => tables.purge('reasons', dueBy(by, limit)))
    assert.deepEqual([await purge(NOW + 2, 1), await purge(NOW + 2, 9)], [1, 1])
    assert.deepEqual(await list({ tenantId: undefined }), [[4, 3], null])
  })

  test(`${kind} tables: no node below the highest level in use is admitted`, async () => {
    await using driver = await open()
    for (const level of [2, 1])
      assert.equal(await driver.write((tables) => tables.claimLevel(level)), true)
    assert.equal(await driver.read((tables) => tables.usedLevel()), 2)
    const admit = (level: number) =>
      driver.write((tables) => tables.admitNode({ node: `node ${level}`, level }))
    assert.deepEqual([await admit(1), await admit(2), await admit(3)], [false, true, true])
  })

  test(`${kind} tables: a setting keeps the version that stored it first`, async () => {
    await using driver = await open()
    const record = (names: readonly string[], version: string) =>
      driver.write((tables) => tables.settings.record(names, version))
    await record(['BONDED_A', 'BONDED_B'], '0.1.0')
    await record(['BONDED_B', 'BONDED_C'], '0.2.0')
    const versions = await driver.read((tables) => tables.settings.versions())
    assert.deepEqual(Object.fromEntries(versions), {
      BONDED_A: '0.1.0',
      BONDED_B: '0.1.0',
      BONDED_C: '0.2.0',
    })
  })

  test(`${kind} tables: the failures of 100 devices on one session are counted apart`, async () => {
    await using driver = await open()
    const ids = Array.from({ length: 100 }, (_, index) => `dev_${index}` as DeviceId)
    await driver.write(function* (tables) {
      yield* tables.sessions.create(newSession(sessionId))
      for (const id of ids) yield* tables.sessions.countFailure(sessionId, id)
      assert.equal(yield* tables.sessions.countFailure(sessionId, deviceId), 1)
      assert.equal(yield* tables.sessions.countFailure(sessionId, deviceId), 2)
    })
    const failures = await driver.read(function* (tables) {
      const session = newSession(sessionId)
      const counts: number[] = []
      for (const id of [...ids, deviceId, 'dev_other' as DeviceId])
        counts.push((yield* tables.sessions.deviceStats(session, { ...newDevice(0), id })).failures)
      return counts
    })
    assert.deepEqual(failures, [...ids.map(() => 1), 2, 0])
  })

  test(`${kind} tables: a change of an outdated session does not hide what was stored since`, async () => {
    await using driver = await open()
    await driver.write((tables) => tables.sessions.create(newSession(sessionId)))
    const find = () => driver.read((tables) => tables.sessions.find(sessionId))
    const outdated = await find()
    assert.ok(outdated)
    await driver.write((tables) => tables.sessions.storeOrigin(sessionId, 'https://a.example'))
    await driver.write((tables) => tables.sessions.move(outdated, MOVES.kill, { now: NOW }))
    const stored = await find()
    assert.deepEqual([stored?.state, stored?.requestingOrigin], ['killed', 'https://a.example'])
  })

  test(`${kind} tables: the first late report of an expired bond is kept, and no other`, async () => {
    await using driver = await open()
    const found = async () => (await driver.read((tables) => tables.sessions.find(sessionId)))!
    const move = async (to: (typeof MOVES)['bond' | 'expire' | 'kill'], now: number) => {
      const session = await found()
      const set = to === MOVES.bond ? { bondedAt: now } : {}
      return driver.write((tables) => tables.sessions.move(session, to, { now, set }))
    }
    const report = (session: Session, now: number, outcome: Session['outcome']) =>
      driver.write((tables) => tables.sessions.reportLate(session, { now, outcome }))
    await driver.write((tables) => tables.sessions.create(newSession(sessionId)))
    const created = await found()
    assert.equal(await report(created, NOW, 'accepted'), false)
    await move(MOVES.bond, NOW)
    assert.equal(await report(created, NOW, 'accepted'), false)
    await move(MOVES.expire, created.expiresAt)
    const expired = await found()
    const late = created.expiresAt + 1
    const said = ['in_review', 'accepted', null] as const
    const reports = await Promise.all(said.map((outcome) => report(expired, late, outcome)))
    assert.equal(reports.filter(Boolean).length, 1)
    const outcome = said.find((_, index) => reports[index])
    const stored = await found()
    assert.deepEqual(stored, { ...expired, completedAt: late, outcome })
    assert.equal(await report(stored, late + 1, 'accepted'), false)
  })

  for (const end of ['expire', 'kill'] as const)
    test(`${kind} tables: keeps no late report of a session with the end: ${end}`, async () => {
      await using driver = await open()
      await driver.write((tables) => tables.sessions.create(newSession(sessionId)))
      const session = (await driver.read((tables) => tables.sessions.find(sessionId)))!
      const now = end === 'expire' ? session.expiresAt : NOW
      await driver.write((tables) => tables.sessions.move(session, MOVES[end], { now }))
      const isKept = await driver.write((tables) =>
        tables.sessions.reportLate(session, { now, outcome: 'accepted' }),
      )
      assert.equal(isKept, false)
    })

  test(`${kind} tables: the purge of a session removes it and its failures`, async () => {
    await using driver = await open()
    const device = newDevice(0)
    const { tenantId } = newSession(sessionId)
    const purged = await driver.write(function* (tables) {
      yield* tables.sessions.create(newSession(sessionId))
      // With a bond, the cache can answer for the failures.
      yield* tables.devices.pairwise({ ...device, tenantId, subjectRef: 'ref' })
      yield* tables.sessions.storeContinuity({ tenantId, deviceId, mean: 0.5, now: NOW })
      yield* tables.sessions.deviceStats(newSession(sessionId), device)
      const session = (yield* tables.sessions.find(sessionId)) ?? newSession(sessionId)
      yield* tables.sessions.countFailure(sessionId, deviceId)
      yield* tables.sessions.move(session, MOVES.kill, { now: NOW })
      return yield* tables.sessions.purge(dueBy(NOW, 10))
    })
    assert.deepEqual(purged, [sessionId])
    const left = await driver.read(function* (tables) {
      const stats = yield* tables.sessions.deviceStats(newSession(sessionId), device)
      return [yield* tables.sessions.find(sessionId), stats.failures]
    })
    assert.deepEqual(left, [undefined, 0])
  })
}
