import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId, RequestId, SessionId, SubjectId, TenantId } from '@bonded/contract'
import type { AuditEntry } from '../../../core/src/domain/audit.ts'
import type { Due, PurgedKind, RetentionKind } from '../../../core/src/domain/retention.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import { sqlDriver, type TableDriver } from './table-drivers.ts'
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

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
const [tenantId, other] = TENANTS as [TenantId, TenantId]
const [subjectId] = SUBJECTS as [SubjectId]
const [phone, second, third] = DEVICES as [DeviceId, DeviceId, DeviceId]

function entry(number: number, given: Partial<AuditEntry> = {}): AuditEntry {
  return {
    number,
    at: number * DAY_MS,
    action: `action ${number}`,
    actorKind: 'operator',
    actor: `actor ${number}`,
    issuer: `issuer ${number}`,
    address: `address ${number}`,
    requestId: `req_${number}` as RequestId,
    tenantId: null,
    person: null,
    target: `target ${number}`,
    valueBefore: `before ${number}`,
    valueAfter: `after ${number}`,
    result: 'success',
    reason: `reason ${number}`,
    previous: `previous ${number}`,
    contentHash: null,
    ...given,
  }
}

/** The bounds of an operator: three to ten days, and five where a tenant says nothing. */
const dueAt = (now: number, limit = 99): Due => ({
  now,
  usualMs: 5 * DAY_MS,
  min: 3,
  max: 10,
  limit,
})

/** Gives each tenant its own days of a kind, of which none is that of another kind. */
async function keepFor(driver: TableDriver, kind: RetentionKind, days: number) {
  const others = { sessions: 30, deliveries: 30, receipts: 30, reasons: 30, audit: 30 }
  const retention = JSON.stringify({ ...others, [kind]: days })
  await driver.writeOutside(`update tenant set retention = '${retention}' where id = '${tenantId}'`)
}

/** How a row of each kind is stored that begins at a time, and what else must be true of it. */
const ROWS: Readonly<Record<PurgedKind, (id: string, at: number, isReady: boolean) => string>> = {
  deliveries: (id, at) => `insert into webhook_delivery
    (event_id, endpoint_id, tenant_id, type, payload, created_at, state)
    values ('${id}', 'we', 'TEN', 't', 'p', ${at}, 'delivered')`,
  receipts: (id, at, isReady) => `insert into receipt
    (session_id, state, tenant_id, workflow, action, jws, made_at, log_index)
    values ('${id}', 'bonded', 'TEN', 'w', 'a', 'j', ${at}, ${isReady ? 1 : 'null'})`,
  reasons: (id, at) => `insert into rejection
    (tenant_id, at, request_id, session_id, reason) values ('TEN', ${at}, '${id}', 's', 'r')`,
}

for (const [kind, row] of Object.entries(ROWS) as [PurgedKind, (typeof ROWS)[PurgedKind]][])
  test(`${kind} are purged after the days of their tenant, within the bounds of the operator`, async () => {
    // Fewer days than the bounds permit count as the fewest, more as the most, none as the usual.
    for (const [days, kept] of [
      [1, 3],
      [3, 3],
      [4, 4],
      [10, 10],
      [11, 10],
    ] as const) {
      await using driver = sqlDriver()
      await keepFor(driver, kind, days)
      const begun = 100 * DAY_MS
      for (const [index, tenant] of [tenantId, tenantId, other].entries())
        await driver.writeOutside(row(`id ${index}`, begun, true).replace('TEN', tenant))
      await driver.writeOutside(row('not ready', begun, false).replace('TEN', tenantId))
      await driver.writeOutside(row('later', begun + 1, true).replace('TEN', tenantId))
      const purge = (now: number, limit?: number) =>
        driver.write((tables) => tables.purge(kind, dueAt(now, limit)))
      const own = kind === 'receipts' ? 2 : 3
      const [early, late] = kept < 5 ? [own, 1] : [1, own]
      const [first, then] = kept < 5 ? [kept, 5] : [5, kept]
      assert.equal(await purge(begun + first * DAY_MS - 1), 0, `${days}`)
      assert.equal(await purge(begun + first * DAY_MS, 1), 1)
      assert.equal(await purge(begun + first * DAY_MS), early - 1)
      assert.equal(await purge(begun + then * DAY_MS - 1), kept < 5 ? 1 : 0)
      assert.equal(await purge(begun + then * DAY_MS), late)
      assert.equal(await purge(begun + kept * DAY_MS + 1), kept < 5 ? 0 : 1)
    }
  })

test('sessions are purged by the end of their tenant’s days, and those of a quorum together', async () => {
  await using driver = sqlDriver()
  await keepFor(driver, 'sessions', 3)
  const lifetime = (session: { sessionTtlMs: number; bondedTtlMs: number }) =>
    session.sessionTtlMs + session.bondedTtlMs
  const of = (id: SessionId, quorumId: string | null) => ({
    ...newSession(id),
    quorumId: quorumId as never,
    createdAt: NOW + 3 * DAY_MS,
    expiresAt: NOW + 4 * DAY_MS,
  })
  const [alone, member] = [of(SESSIONS[0] as SessionId, null), of(SESSIONS[1] as SessionId, 'q')]
  await driver.write(function* ({ sessions }) {
    for (const session of [alone, member]) {
      yield* sessions.create(session)
      yield* sessions.move(session, MOVES.kill, { now: NOW })
    }
  })
  const purge = (now: number) => driver.write(({ sessions }) => sessions.purge(dueAt(now)))
  assert.deepEqual(await purge(NOW + 3 * DAY_MS - 1), [])
  assert.deepEqual(await purge(NOW + 3 * DAY_MS), [alone.id])
  // An hour after the last of them can have ended, all of them can be read no more.
  const readable = member.createdAt + lifetime(member) + HOUR_MS
  assert.deepEqual(await purge(readable - 1), [])
  assert.deepEqual(await purge(readable), [member.id])
})

test('audit entries are due by tenant or by the usual time, are emptied, and are left out', async () => {
  await using driver = sqlDriver()
  await keepFor(driver, 'audit', 4)
  const entries = [
    entry(1, { tenantId }),
    entry(2),
    entry(3, { tenantId: other }),
    entry(4, { tenantId, person: 'person 4' }),
  ]
  for (const each of entries) await driver.write(({ audit }) => audit.add(each))
  const due = async (now: number, limit?: number) =>
    (await driver.read(({ audit }) => audit.due(dueAt(now, limit))))
      .map(({ number }) => number)
      .toSorted((a, b) => a - b)
  assert.deepEqual(await due(5 * DAY_MS - 1), [])
  assert.deepEqual(await due(5 * DAY_MS), [1])
  assert.deepEqual(await due(7 * DAY_MS - 1), [1])
  assert.deepEqual(await due(7 * DAY_MS), [1, 2])
  assert.deepEqual(await due(8 * DAY_MS), [1, 2, 3, 4])
  assert.deepEqual(await due(8 * DAY_MS, 1), [1])
  await driver.write(({ audit }) => audit.empty(entry(4), 'hash 4'))
  await driver.write(({ audit }) => audit.empty(entry(4), 'another hash'))
  const list = (query: object) => driver.read(({ audit }) => audit.list({ limit: 9, ...query }))
  assert.deepEqual(await list({ after: 3 }), [
    {
      number: 4,
      at: 4 * DAY_MS,
      action: '',
      actorKind: '',
      actor: '',
      issuer: null,
      address: null,
      requestId: '',
      tenantId,
      person: null,
      target: '',
      valueBefore: null,
      valueAfter: null,
      result: '',
      reason: null,
      previous: 'previous 4',
      contentHash: 'hash 4',
    },
  ])
  assert.deepEqual(await due(8 * DAY_MS), [1, 2, 3])
  const numbers = async (query: object) => (await list(query)).map(({ number }) => number)
  assert.deepEqual(await numbers({ hasContent: true }), [1, 2, 3])
  assert.deepEqual(await numbers({ without: ['action 1', 'action 3'] }), [2, 4])
  assert.deepEqual(await numbers({ since: 2 * DAY_MS, until: 3 * DAY_MS }), [2, 3])
  assert.deepEqual(await numbers({ before: 3, newestFirst: true }), [2, 1])
})

test('the tiles of the log are pruned by age, only full ones of the lowest level', async () => {
  await using driver = sqlDriver()
  const full = new Uint8Array(256 * 32)
  const tile = (level: number, index: number, hashes = full) => ({
    level,
    index,
    hashes,
    entries: null,
  })
  const tiles = [tile(0, 0), tile(0, 1), tile(0, 2, full.subarray(32)), tile(1, 0)]
  await driver.write(function* ({ receiptLog }) {
    yield* receiptLog.append({ before: 0, size: 1, auditSize: 0, tiles, now: NOW })
    const later = { before: 1, size: 2, auditSize: 5, tiles: [tile(0, 3)], now: NOW + 1 }
    yield* receiptLog.append(later)
  })
  const prune = (by: number, limit: number) =>
    driver.write(({ receiptLog }) => receiptLog.prune(by, limit))
  const left = async () => {
    const found: string[] = []
    for (const [level, index] of [...tiles, tile(0, 3)].map((each) => [each.level, each.index]))
      if (await driver.read(({ receiptLog }) => receiptLog.tile(level!, index!)))
        found.push(`${level}/${index}`)
    return found
  }
  assert.equal(await prune(NOW - 1, 9), 0)
  assert.deepEqual([await prune(NOW, 1), await left()], [1, ['0/1', '0/2', '1/0', '0/3']])
  assert.deepEqual([await prune(NOW, 9), await left()], [1, ['0/2', '1/0', '0/3']])
  assert.deepEqual([await prune(NOW + 1, 9), await left()], [1, ['0/2', '1/0']])
  const head = await driver.read(({ receiptLog }) => receiptLog.head())
  assert.deepEqual([head.size, head.auditSize], [2, 5])
})

test('a phone is woken at its own endpoint, which no other phone keeps', async () => {
  await using driver = sqlDriver()
  await driver.write(registerDevices)
  const subscribe = (index: number, endpoint: string | null) =>
    driver.write(({ push }) => push.subscribe(newDevice(index), endpoint))
  const endpointOf = (id: DeviceId) => driver.read(({ push }) => push.endpoint(id))
  const all = () => Promise.all([phone, second, third].map(endpointOf))
  await subscribe(0, 'https://push.example/a')
  await subscribe(1, 'https://push.example/b')
  await subscribe(2, 'https://push.example/c')
  await subscribe(0, 'https://push.example/a2')
  assert.deepEqual(
    await all(),
    ['a2', 'b', 'c'].map((name) => `https://push.example/${name}`),
  )
  const subscriptions = async (id: SubjectId) =>
    (await driver.read(({ push }) => push.subscriptions(id))).map(({ device, endpoint }) => [
      device.id,
      device.subjectBlocked,
      endpoint.slice(-2),
    ])
  assert.deepEqual(await subscriptions(subjectId), [
    [phone, false, 'a2'],
    [second, false, '/b'],
  ])
  assert.deepEqual(await subscriptions(SUBJECTS[2] as SubjectId), [[third, false, '/c']])
  assert.equal(await driver.read(({ push }) => push.count()), 3)
  // The browser of the second phone has been given the endpoint of the first.
  await subscribe(1, 'https://push.example/a2')
  assert.deepEqual(await all(), [undefined, 'https://push.example/a2', 'https://push.example/c'])
  const end = (endpoint: string) => driver.write(({ push }) => push.end(third, endpoint))
  assert.equal(await end('https://push.example/a2'), false)
  assert.deepEqual(
    [await end('https://push.example/c'), await end('https://push.example/c')],
    [true, false],
  )
  await subscribe(0, 'https://push.example/a3')
  await subscribe(1, null)
  assert.deepEqual(await all(), ['https://push.example/a3', undefined, undefined])
  await driver.writeOutside(`update device set status = 'removed' where id = '${phone}'`)
  assert.deepEqual(await subscriptions(subjectId), [])
  await driver.write(({ subjects }) => subjects.block(subjectId, NOW))
  assert.equal(await driver.read(({ push }) => push.count()), 0)
})

test('the first key of wake-ups is kept, and is replaced from what was read only', async () => {
  await using driver = sqlDriver()
  const key = () => driver.read(({ push }) => push.key())
  const store = (sealed: string, before?: string) =>
    driver.write(({ push }) => push.storeKey(sealed, before))
  assert.equal(await key(), undefined)
  await store('first')
  await store('second')
  assert.equal(await key(), 'first')
  await store('third', 'second')
  assert.equal(await key(), 'first')
  await store('third', 'first')
  assert.equal(await key(), 'third')
})

test('a user is woken by each credential once an hour, and four times in all', async () => {
  await using driver = sqlDriver()
  const callers = ['k1', 'k2', 'k3', 'k4', 'k5', 'k6']
  for (const tenant of TENANTS)
    for (const subject of ['sub_a', 'sub_b'])
      for (const caller of callers)
        await driver.writeOutside(
          `insert into inbox_caller (tenant_id, subject_id, key_id, asked_at, since_approval, since_answer)
           values ('${tenant}', '${subject}', '${caller}', 1, 0, 0)`,
        )
  const now = 100 * HOUR_MS
  const wake = (caller: string, at: number, tenant = tenantId, subject = subjectId) =>
    driver.write(({ push }) =>
      push.countWakeUp({ tenantId: tenant, subjectId: subject, caller }, at),
    )
  assert.deepEqual([await wake('k1', now), await wake('k1', now)], [true, false])
  // The same name of a credential at another tenant, and another user, have their own counts.
  assert.equal(await wake('k1', now + 1, other), true)
  assert.equal(await wake('k1', now + 1, tenantId, 'sub_b' as SubjectId), true)
  assert.equal(await wake('none', now + 1), false)
  assert.deepEqual([await wake('k2', now + 2), await wake('k3', now + 3)], [true, true])
  assert.equal(await wake('k4', now + 4), false)
  assert.equal(await wake('k4', now + HOUR_MS - 1), false)
  assert.equal(await wake('k4', now + HOUR_MS), true)
  assert.equal(await wake('k1', now + HOUR_MS), false)
  // A wake-up of a clock that was ahead does not count.
  assert.equal(await wake('k2', now - 1), true)
})

test('an inbox is paused and resumed for one tenant, and each report of the user is counted', async () => {
  await using driver = sqlDriver()
  await driver.write(registerDevices)
  const references = [
    [tenantId, subjectId],
    [other, subjectId],
    [tenantId, SUBJECTS[2] as SubjectId],
  ] as const
  await driver.write(function* ({ devices }) {
    for (const [tenant, subject] of references)
      yield* devices.pairwise({
        tenantId: tenant,
        subjectId: subject,
        subjectRef: `${subject} ref`,
      })
  })
  const of = { tenantId, subjectId } as never
  const pause = (until: number) => driver.write(({ subjects }) => subjects.pauseInbox(of, until))
  const resume = (now: number) => driver.write(({ subjects }) => subjects.resumeInbox(of, now))
  const states = async () => {
    const found: unknown[] = []
    for (const [tenant, subject] of references) {
      const reference = await driver.read(({ subjects }) => subjects.find(tenant, `${subject} ref`))
      found.push(reference?.inboxPausedUntil, reference?.inboxReports)
    }
    return found
  }
  await pause(NOW + 5)
  await pause(NOW + 9)
  assert.deepEqual(await states(), [NOW + 9, 2, 0, 0, 0, 0])
  assert.deepEqual([await resume(NOW + 9), await states()], [false, [NOW + 9, 2, 0, 0, 0, 0]])
  assert.deepEqual([await resume(NOW + 8), await resume(NOW)], [true, false])
  assert.deepEqual(await states(), [0, 2, 0, 0, 0, 0])
})

test('the counts of a credential are purged after three days without an answer, or its end', async () => {
  await using driver = sqlDriver()
  const now = 100 * DAY_MS
  const asked = now - 3 * DAY_MS
  const rows: readonly (readonly [subject: string, key: string, at: number, answer: number])[] = [
    ['sub_a', 'old', asked, 0],
    ['sub_b', 'recent', asked + 1, 0],
    ['sub_c', 'unanswered', asked, 1],
    ['sub_d', 'revoked', now, 1],
    ['sub_e', 'revoked later', now, 1],
    ['sub_f', 'old', asked, 0],
  ]
  for (const [subject, key, at, answer] of rows)
    await driver.writeOutside(
      `insert into inbox_caller (tenant_id, subject_id, key_id, asked_at, since_approval, since_answer)
       values ('${tenantId}', '${subject}', '${key}', ${at}, 1, ${answer})`,
    )
  await driver.write(function* ({ tenants }) {
    const add = { tenantId, hash: Uint8Array.of(1), last4: 'l', scope: null, now: 1 }
    yield* tenants.addServerCredential({ ...add, keyId: 'revoked', expiresAt: asked })
    yield* tenants.addServerCredential({ ...add, keyId: 'revoked later', expiresAt: asked + 1 })
  })
  const purge = (after: string) => driver.write(({ sessions }) => sessions.purgeCallers(after, now))
  const left = async () => {
    const found: string[] = []
    for (const [subject, caller] of rows) {
      const of = { tenantId, subjectId: subject as SubjectId, caller, now: asked }
      const { approval } = await driver.read(({ sessions }) => sessions.askedSince(of))
      if (approval > 0) found.push(subject.slice(-1))
    }
    return found.join('')
  }
  assert.equal(await purge('sub_a'), 'sub_f')
  assert.equal(await left(), 'abce')
  assert.equal(await purge('sub_f'), '')
  assert.equal(await purge(''), 'sub_e')
  assert.equal(await left(), 'bce')
})

test('a filter of rejections reads a thousand, and the next page begins after them', async () => {
  await using driver = sqlDriver()
  const values = Array.from(
    { length: 1_002 },
    (_, index) =>
      `('${tenantId}', ${index}, 'req_${index}', 's', '${index === 0 ? 'rare' : 'usual'}')`,
  )
  await driver.writeOutside(
    `insert into rejection (tenant_id, at, request_id, session_id, reason) values ${values.join()}`,
  )
  const list = (query: object) =>
    driver.read(({ rejections }) =>
      rejections.list({ tenantId, reason: 'rare', limit: 5, ...query }),
    )
  const first = await list({})
  assert.deepEqual([first.rejections, first.next?.at], [[], 2])
  const then = await list({ before: first.next })
  assert.deepEqual([then.rejections.map(({ at }) => at), then.next], [[0], null])
})
