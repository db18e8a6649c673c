import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId, TenantId } from '@bonded/contract'
import type { Attempt } from '../../../core/src/domain/webhooks.ts'
import type { WebhookEndpoint } from '../../../core/src/ports/tables/webhook-table.ts'
import { sqlDriver } from './table-drivers.ts'
import { DEVICES, NOW, registerDevices, SUBJECTS } from './table-operations.ts'
import {
  add,
  deliveryOf,
  endpoint,
  eventId,
  find,
  otherTenant,
  store,
  tenantId,
  withEndpoints,
  write,
} from './webhook-rows.ts'

const SECOND_MS = 1_000
const DAY_MS = 24 * 60 * 60 * SECOND_MS

test('an attempt is stored with its answer unless the delivery was claimed since, the last 20', async () => {
  await using driver = sqlDriver()
  const a = endpoint('a')
  await withEndpoints(driver, a)
  for (const name of ['x', 'y']) await add(driver, a, name)
  assert.deepEqual(await deliveryOf(driver, 'x'), {
    ordinal: 1,
    eventId: 'evt_x',
    endpointId: 'we_a',
    tenantId,
    type: 'session.bonded',
    payload: 'payload of x',
    createdAt: NOW,
    state: 'pending',
    dueAt: NOW,
    attempts: 0,
    history: [],
  })
  const outdated = await deliveryOf(driver, 'x')
  const attempts = Array.from(
    { length: 22 },
    (_, index): Attempt => ({ at: NOW + index, ms: index, status: 500, body: `b${index}` }),
  )
  for (const [index, attempt] of attempts.entries()) {
    const delivery = await deliveryOf(driver, 'x')
    const verdict = { state: 'pending', dueAt: NOW + index + 1 } as const
    await write(driver, (webhooks) => webhooks.record(delivery, attempt, verdict))
  }
  const expected = { ...outdated, dueAt: NOW + 22, attempts: 22, history: attempts.slice(2) }
  assert.deepEqual(await deliveryOf(driver, 'x'), expected)
  const done = { state: 'delivered', dueAt: null } as const
  await write(driver, (webhooks) => webhooks.record(outdated, attempts[0] as Attempt, done))
  assert.deepEqual(await deliveryOf(driver, 'x'), expected)
  await write(driver, (webhooks) => webhooks.retry(expected, NOW + 99))
  assert.deepEqual(await deliveryOf(driver, 'x'), { ...expected, dueAt: NOW + 99, attempts: 0 })
  await write(driver, (webhooks) =>
    webhooks.record({ ...expected, dueAt: NOW + 99 }, attempts[0] as Attempt, done),
  )
  assert.equal((await deliveryOf(driver, 'x')).state, 'delivered')
  await write(driver, (webhooks) => webhooks.retry(expected, NOW + 98))
  assert.deepEqual(
    [(await deliveryOf(driver, 'x')).state, (await deliveryOf(driver, 'y')).dueAt],
    ['pending', NOW],
  )
})

test('a recovery sends what failed or was held since a time, of one endpoint', async () => {
  await using driver = sqlDriver()
  const [a, b] = [endpoint('a'), endpoint('b')]
  await withEndpoints(driver, a, b)
  const cases = [
    ['before', a, 1, 'failed'],
    ['failed', a, 2, 'failed'],
    ['held', a, 3, 'held'],
    ['delivered', a, 3, 'delivered'],
    ['other', b, 3, 'failed'],
  ] as const
  for (const [name, of, at, state] of cases) {
    await add(driver, of, name, NOW + at)
    await store(driver, name, state, null)
  }
  await add(driver, a, 'pending', NOW + 3)
  const recover = () => write(driver, (webhooks) => webhooks.recover(a.id, NOW + 2, NOW + 50))
  assert.deepEqual([await recover(), await recover()], [2, 0])
  const found: unknown[] = []
  for (const name of [...cases.map(([each]) => each), 'pending']) {
    const { state, dueAt, attempts } = await deliveryOf(driver, name)
    found.push([name, state, dueAt && dueAt - NOW, attempts])
  }
  assert.deepEqual(found, [
    ['before', 'failed', null, 1],
    ['failed', 'pending', 50, 0],
    ['held', 'pending', 50, 0],
    ['delivered', 'delivered', null, 1],
    ['other', 'failed', null, 1],
    ['pending', 'pending', 3, 0],
  ])
})

test('a page of deliveries has those of the tenant and of each filter, newest first', async () => {
  await using driver = sqlDriver()
  const [a, b] = [endpoint('a'), endpoint('b')]
  const theirs = endpoint('theirs', { tenantId: otherTenant })
  await withEndpoints(driver, a, b, theirs)
  const types = ['session.bonded', 'session.killed'] as const
  for (const [index, of] of [a, b, theirs, a, b, a].entries())
    await write(driver, (webhooks) =>
      webhooks.add({
        endpoint: of,
        eventId: eventId(String(index)),
        type: types[index < 4 ? 0 : 1],
        payload: 'p',
        now: NOW - index,
      }),
    )
  for (const name of ['0', '4']) await store(driver, name, 'failed', null)
  const list = async (query: object) => {
    const { deliveries, next } = await write(driver, (webhooks) =>
      webhooks.deliveries({ tenantId, limit: 9, ...query }),
    )
    return [deliveries.map(({ eventId: id }) => id.slice(4)).join(''), next && next.eventId]
  }
  assert.deepEqual(await list({}), ['54310', null])
  assert.deepEqual(await list({ limit: 2 }), ['54', 'evt_4'])
  const before = (name: string, of = a) => ({
    before: { eventId: eventId(name), endpointId: of.id },
  })
  assert.deepEqual(await list(before('4', b)), ['310', null])
  // A cursor that names no delivery of this tenant leads nowhere.
  assert.deepEqual(await list(before('4', a)), ['', null])
  assert.deepEqual(await list(before('2', theirs)), ['', null])
  assert.deepEqual(await list({ state: 'failed' }), ['40', null])
  assert.deepEqual(await list({ state: 'failed', ...before('4', b) }), ['0', null])
  assert.deepEqual(await list({ type: 'session.killed' }), ['54', null])
  assert.deepEqual(await list({ endpointId: b.id }), ['41', null])
  assert.deepEqual(await list({ endpointId: b.id, type: 'session.bonded' }), ['1', null])
  assert.deepEqual(await list({ tenantId: otherTenant }), ['2', null])
})

test('times of a clock that was ahead are repaired, and others are not', async () => {
  await using driver = sqlDriver()
  const ahead = 10 * SECOND_MS
  const [a, b] = [endpoint('a'), endpoint('b')]
  await withEndpoints(driver, a, b)
  const tried = (of: WebhookEndpoint, now: number, pausedUntil: number) =>
    write(driver, (webhooks) =>
      webhooks.recordEndpoint(of, { failures: 0, pausedUntil, now, isGone: false }),
    )
  const repair = () => write(driver, (webhooks) => webhooks.repairTimes(NOW))
  const future = () => write(driver, (webhooks) => webhooks.futureTimes(NOW))
  await add(driver, a, 'just', NOW + ahead)
  await tried(a, NOW + ahead, NOW + ahead + DAY_MS)
  // A receiver may ask for a day, and nodes differ by ten seconds.
  assert.deepEqual([await future(), await repair()], [0, 0])
  await add(driver, a, 'future', NOW + ahead + 1)
  assert.deepEqual([await future(), await repair(), await future()], [1, 1, 0])
  const { createdAt, dueAt } = await deliveryOf(driver, 'future')
  assert.deepEqual([createdAt, dueAt], [NOW, NOW])
  assert.equal((await deliveryOf(driver, 'just')).createdAt, NOW + ahead)

  await tried(b, 0, NOW + ahead + DAY_MS + 1)
  assert.deepEqual([await future(), await repair()], [0, 1])
  assert.equal((await find(driver, 'b'))?.pausedUntil, 0)
  assert.equal((await find(driver, 'a'))?.pausedUntil, NOW + ahead + DAY_MS)
  await tried(a, NOW + ahead + 1, 0)
  for (const [name, due] of [
    ['claimed', 60 * SECOND_MS],
    ['postponed', 60 * SECOND_MS + 1],
  ] as const) {
    await add(driver, a, name)
    await store(driver, name, 'pending', NOW + due)
  }
  await add(driver, b, 'of b')
  await store(driver, 'of b', 'pending', NOW + DAY_MS)
  assert.deepEqual([await future(), await repair(), await future()], [1, 2, 0])
  const dueOf = async (name: string) => Number((await deliveryOf(driver, name)).dueAt) - NOW
  assert.deepEqual(
    [await dueOf('claimed'), await dueOf('postponed'), await dueOf('of b')],
    [60 * SECOND_MS, 0, DAY_MS],
  )
})

test('an event of a device goes to each tenant with a bond of its user within 90 days', async () => {
  await using driver = sqlDriver()
  const [device, second] = DEVICES as [DeviceId, DeviceId]
  const third = 'ten_c' as TenantId
  await driver.write(registerDevices)
  await driver.writeOutside(
    `insert into tenant (id, name, environment, demo, origins, workflows, created_at)
     values ('${third}', 'C', 'sandbox', 0, '[]', '[]', 0)`,
  )
  const at = NOW + 90 * DAY_MS
  await withEndpoints(
    driver,
    endpoint('a'),
    endpoint('a2', { events: ['device.blocked'], disabledAt: null }),
    endpoint('a3', { events: ['device.suspect', 'session.bonded'] }),
    endpoint('b', { tenantId: otherTenant }),
    endpoint('c', { tenantId: third }),
  )
  await write(driver, (webhooks) =>
    webhooks.updateEndpoint({
      ...endpoint('a2', { events: ['device.blocked'] }),
      disabledAt: NOW,
      disabledReason: 'tenant',
    }),
  )
  await driver.write(function* ({ devices, sessions }) {
    for (const [tenant, bondedBy, now] of [
      // Another phone of the user has the bond.
      [tenantId, second, NOW],
      [otherTenant, device, NOW - 1],
      [third, DEVICES[2] as DeviceId, at],
    ] as const) {
      const subjectId = SUBJECTS[0] as never
      yield* devices.pairwise({ tenantId: tenant, subjectId, subjectRef: `ref of ${tenant}` })
      yield* sessions.storeContinuity({ tenantId: tenant, deviceId: bondedBy, mean: 1, now })
    }
  })
  const send = (about: DeviceId | null) =>
    write(driver, (webhooks) =>
      webhooks.addDeviceEvent(device, { type: 'device.blocked', at, about }),
    )
  await send(null)
  await send(null)
  const list = async (of: TenantId) =>
    (await write(driver, (webhooks) => webhooks.deliveries({ tenantId: of, limit: 9 }))).deliveries
  const own = await list(tenantId)
  assert.equal(own.length, 2)
  const states = own.map(({ endpointId: id, state, dueAt }) => [id, [state, dueAt]] as const)
  assert.deepEqual(
    new Map(states),
    new Map([
      ['we_a', ['pending', at]],
      ['we_a2', ['held', null]],
    ]),
  )
  const payload = JSON.parse(own[0]?.payload ?? '{}') as { id: string; type: string; data: object }
  assert.deepEqual([payload.type, payload.id], ['device.blocked', own[0]?.eventId])
  assert.deepEqual(payload.data, { subject_ref: `ref of ${tenantId}` })
  assert.deepEqual([await list(otherTenant), await list(third)], [[], []])
  await send(device)
  const [latest] = await list(tenantId)
  const named = JSON.parse(latest?.payload ?? '{}') as { data: Record<string, unknown> }
  assert.deepEqual(Object.keys(named.data).toSorted(), ['device_ref', 'subject_ref'])
})
