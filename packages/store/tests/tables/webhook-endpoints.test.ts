import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TenantId } from '@bonded/contract'
import type { WebhookEndpoint } from '../../../core/src/ports/tables/webhook-table.ts'
import { sqlDriver, type TableDriver } from './table-drivers.ts'
import { NOW } from './table-operations.ts'
import {
  add,
  deliveriesOf,
  deliveryOf,
  endpoint,
  endpointId,
  find,
  otherTenant,
  store,
  tenantId,
  withEndpoints,
  write,
} from './webhook-rows.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

test('an endpoint is read as it was added and changed, and each change is of one endpoint', async () => {
  await using driver = sqlDriver()
  const changed = endpoint('b', {
    events: ['session.bonded', 'session.killed'],
    scheme: 'v1a',
    loggedCharacters: 12,
    createdAt: NOW + 3,
    tenantId: otherTenant,
  })
  await withEndpoints(driver, changed, endpoint('c', { createdAt: NOW + 2 }), endpoint('a'))
  assert.deepEqual(await find(driver, 'b'), changed)
  assert.equal(await find(driver, 'none'), undefined)
  const names = async (of?: TenantId) =>
    (await write(driver, (webhooks) => webhooks.endpoints(of))).map(({ id }) => id)
  assert.deepEqual(await names(), ['we_a', 'we_c', 'we_b'])
  assert.deepEqual(await names(tenantId), ['we_a', 'we_c'])
  assert.deepEqual(await names(otherTenant), ['we_b'])

  const tried = { failures: 7, pausedUntil: NOW + 9, now: NOW + 4, isGone: false }
  await write(driver, (webhooks) => webhooks.recordEndpoint(changed, tried))
  assert.deepEqual(await find(driver, 'b'), { ...changed, failures: 7, pausedUntil: NOW + 9 })
  const updated = {
    ...changed,
    url: 'https://new.example',
    events: null,
    loggedCharacters: 34,
    sealedSecrets: 'new secrets',
    previousUntil: NOW + 5,
    disabledAt: NOW + 6,
    disabledReason: 'operator' as const,
  }
  await write(driver, (webhooks) => webhooks.updateEndpoint(updated))
  // A change begins the count of failures anew, and ends the pause.
  assert.deepEqual(await find(driver, 'b'), updated)

  const reseal = (before: string, after: string) =>
    write(driver, (webhooks) => webhooks.resealEndpoint(endpointId('b'), { before, after }))
  await reseal('secrets of b', 'lost')
  assert.equal((await find(driver, 'b'))?.sealedSecrets, 'new secrets')
  await reseal('new secrets', 'sealed anew')
  assert.deepEqual(await find(driver, 'b'), { ...updated, sealedSecrets: 'sealed anew' })

  await add(driver, updated, 'gone')
  await add(driver, endpoint('a'), 'stays')
  await write(driver, (webhooks) => webhooks.removeEndpoint(endpointId('b')))
  assert.equal(await find(driver, 'b'), undefined)
  assert.deepEqual(await deliveriesOf(driver, 'gone'), [])
  assert.equal((await deliveriesOf(driver, 'stays')).length, 1)
  assert.deepEqual(await find(driver, 'a'), endpoint('a'))
  assert.deepEqual(await find(driver, 'c'), endpoint('c', { createdAt: NOW + 2 }))
})

test('an attempt is recorded of the URL that was tried, and one that is gone holds what waits', async () => {
  await using driver = sqlDriver()
  const [a, b] = [endpoint('a'), endpoint('b')]
  await withEndpoints(driver, a, b)
  for (const name of ['waits', 'done']) await add(driver, a, name)
  await store(driver, 'done', 'delivered', null)
  await add(driver, b, 'of b')
  const record = (url: string, change: object) =>
    write(driver, (webhooks) =>
      webhooks.recordEndpoint(
        { id: a.id, url },
        { failures: 1, pausedUntil: 0, now: NOW, isGone: false, ...change },
      ),
    )
  await record('https://former.example', { failures: 9, isGone: true })
  assert.deepEqual(await find(driver, 'a'), a)
  assert.equal((await deliveryOf(driver, 'waits')).state, 'pending')
  await record(a.url, { pausedUntil: NOW + 9, failures: 2 })
  // An answer that comes later does not shorten the pause.
  await record(a.url, { pausedUntil: NOW + 8, failures: 3 })
  assert.deepEqual(await find(driver, 'a'), { ...a, failures: 3, pausedUntil: NOW + 9 })
  await record(a.url, { pausedUntil: 0, failures: 0, now: NOW + 5, isGone: true })
  await record(a.url, { pausedUntil: 0, failures: 0, now: NOW + 6, isGone: true })
  const gone = { disabledAt: NOW + 5, disabledReason: 'gone' }
  assert.deepEqual(await find(driver, 'a'), { ...a, ...gone, pausedUntil: NOW + 9 })
  const { state, dueAt } = await deliveryOf(driver, 'waits')
  assert.deepEqual([state, dueAt], ['held', null])
  assert.equal((await deliveryOf(driver, 'done')).state, 'delivered')
  const other = await deliveryOf(driver, 'of b')
  assert.deepEqual([other.state, other.dueAt], ['pending', NOW])
  assert.deepEqual(await find(driver, 'b'), b)
})

test('a delivery is claimed from its time on, the earliest first, by the node with the lease', async () => {
  await using driver = sqlDriver()
  const [a, b] = [endpoint('a'), endpoint('b')]
  await withEndpoints(driver, a, b)
  for (const [name, at] of [
    ['late', 3],
    ['early', 1],
    ['middle', 2],
  ] as const)
    await add(driver, a, name, NOW + at)
  await add(driver, b, 'of b', NOW + 1)
  const claim = (change: object) =>
    write(driver, (webhooks) =>
      webhooks.claim(a.id, {
        now: NOW + 3,
        limit: 2,
        until: NOW + 60,
        held: 0,
        leasedUntil: NOW + 20,
        ...change,
      }),
    )
  assert.equal(await claim({ now: NOW }), undefined)
  const claimed = await claim({})
  assert.deepEqual(
    claimed?.claimed.map(({ eventId: id, dueAt }) => [id, dueAt]),
    [
      ['evt_early', NOW + 60],
      ['evt_middle', NOW + 60],
    ],
  )
  assert.deepEqual(claimed?.endpoint, { ...a, leasedUntil: NOW + 20 })
  const dueAts = async () => {
    const names = ['early', 'middle', 'late', 'of b']
    const all = await Promise.all(names.map((name) => deliveryOf(driver, name)))
    return all.map(({ dueAt }) => Number(dueAt) - NOW)
  }
  assert.deepEqual(await dueAts(), [60, 60, 3, 1])
  // Another node has no lease before its end; the one that has it may extend it.
  assert.equal(await claim({ now: NOW + 19 }), undefined)
  assert.deepEqual(await dueAts(), [60, 60, 3, 1])
  assert.equal((await claim({ held: NOW + 20, leasedUntil: NOW + 30 }))?.claimed.length, 1)
  const lease = (change: object) =>
    write(driver, (webhooks) =>
      webhooks.lease(a.id, { now: NOW + 29, held: 0, leasedUntil: NOW + 50, ...change }),
    )
  assert.equal(await lease({}), undefined)
  assert.equal((await lease({ now: NOW + 30 }))?.leasedUntil, NOW + 50)
  // A node cannot end the lease of another.
  await write(driver, (webhooks) => webhooks.release(a.id, NOW + 30))
  assert.equal((await find(driver, 'a'))?.leasedUntil, NOW + 50)
  await write(driver, (webhooks) => webhooks.release(a.id, NOW + 50))
  assert.equal((await find(driver, 'a'))?.leasedUntil, 0)
  assert.equal((await find(driver, 'b'))?.leasedUntil, 0)

  const pause = { failures: 1, pausedUntil: NOW + 70, now: NOW, isGone: false }
  await write(driver, (webhooks) => webhooks.recordEndpoint(a, pause))
  assert.equal(await lease({ now: NOW + 69 }), undefined)
  assert.notEqual(await lease({ now: NOW + 70 }), undefined)
  await write(driver, (webhooks) =>
    webhooks.updateEndpoint({ ...a, disabledAt: NOW, disabledReason: 'tenant' }),
  )
  assert.equal(await lease({ now: NOW + DAY_MS }), undefined)
})

test('the audit is released at its position by the node with the lease', async () => {
  await using driver = sqlDriver()
  const [a, b] = [endpoint('a', { tenantId: 'operator' }), endpoint('b', { tenantId: 'operator' })]
  await withEndpoints(driver, a, b)
  for (const { id } of [a, b])
    await write(driver, (webhooks) =>
      webhooks.lease(id, { now: NOW, held: 0, leasedUntil: NOW + 5 }),
    )
  const release = (position: number, held: number) =>
    write(driver, (webhooks) => webhooks.releaseAudit(a.id, { position, held }))
  await release(7, NOW + 4)
  assert.deepEqual(await find(driver, 'a'), { ...a, leasedUntil: NOW + 5 })
  await release(7, NOW + 5)
  assert.deepEqual(await find(driver, 'a'), { ...a, auditPosition: 7 })
  assert.deepEqual(await find(driver, 'b'), { ...b, leasedUntil: NOW + 5 })
})

/** An entry of the audit log, of which only the number and the time count here. */
function audit(driver: TableDriver, number: number, at: number) {
  return driver.write((tables) =>
    tables.audit.add({
      number,
      at,
      action: 'x',
      actorKind: 'operator',
      actor: 'a',
      issuer: null,
      address: null,
      requestId: 'req_a' as never,
      tenantId: null,
      person: null,
      target: '{}',
      valueBefore: null,
      valueAfter: null,
      result: 'success',
      reason: null,
      previous: '',
      contentHash: null,
    }),
  )
}

test('an endpoint is due while it is enabled, not paused and not leased, and something is due', async () => {
  await using driver = sqlDriver()
  const all = ['a', 'b', 'c', 'd', 'e', 'none'].map((name) => endpoint(name))
  const [a, b, c, d, e] = all as [WebhookEndpoint, ...WebhookEndpoint[]]
  await withEndpoints(driver, ...all)
  for (const each of [a, b!, c!, d!]) await add(driver, each, `of ${each.id}`, NOW)
  await add(driver, e!, 'later', NOW + 2)
  const tried = (of: WebhookEndpoint, now: number, pausedUntil = 0) =>
    write(driver, (webhooks) =>
      webhooks.recordEndpoint(of, { failures: 0, pausedUntil, now, isGone: false }),
    )
  // The one that waited longest is the first.
  await tried(e!, NOW - 4)
  await tried(a, NOW - 1)
  await tried(b!, NOW - 3)
  await tried(c!, NOW - 2, NOW + 1)
  await write(driver, (webhooks) =>
    webhooks.lease(d!.id, { now: NOW - 9, held: 0, leasedUntil: NOW + 1 }),
  )
  const due = async (now: number, limit = 9) =>
    (await write(driver, (webhooks) => webhooks.dueEndpoints(now, limit))).deliveries
      .map(({ id }) => id.slice(-1))
      .join('')
  assert.equal(await due(NOW - 1), '')
  assert.equal(await due(NOW), 'ba')
  assert.equal(await due(NOW, 1), 'b')
  assert.equal(await due(NOW + 1), 'dbca')
  assert.equal(await due(NOW + 2), 'debca')
  await write(driver, (webhooks) =>
    webhooks.updateEndpoint({ ...b!, disabledAt: NOW, disabledReason: 'tenant' }),
  )
  assert.equal(await due(NOW), 'a')
})

test('an endpoint of the operator is due while the audit has an entry after its position', async () => {
  await using driver = sqlDriver()
  const names = ['a', 'paused', 'leased', 'disabled', 'gone'] as const
  const of = (name: string) => endpoint(name, { tenantId: 'operator' })
  await withEndpoints(driver, ...names.map(of), endpoint('tenant'))
  await write(driver, (webhooks) =>
    webhooks.recordEndpoint(of('paused'), {
      failures: 0,
      pausedUntil: NOW + 1,
      now: 0,
      isGone: false,
    }),
  )
  await write(driver, (webhooks) =>
    webhooks.lease(endpointId('leased'), { now: NOW - 9, held: 0, leasedUntil: NOW + 1 }),
  )
  await write(driver, (webhooks) =>
    webhooks.updateEndpoint({ ...of('disabled'), disabledAt: 1, disabledReason: 'operator' }),
  )
  const due = async (now: number) => {
    const { audit: found, deliveries } = await write(driver, (webhooks) =>
      webhooks.dueEndpoints(now, 9),
    )
    assert.deepEqual(deliveries, [])
    return found.map(({ id }) => id.slice(3)).toSorted()
  }
  assert.deepEqual(await due(NOW), [])
  await audit(driver, 1, NOW - 7)
  await audit(driver, 2, NOW - 5)
  assert.deepEqual(await due(NOW), ['a', 'gone'])
  assert.deepEqual(await due(NOW + 1), ['a', 'gone', 'leased', 'paused'])
  const advance = async (name: string, position: number) => {
    const lease = { now: NOW + 1, held: 0, leasedUntil: NOW + 2 }
    await write(driver, (webhooks) => webhooks.lease(endpointId(name), lease))
    const end = { position, held: NOW + 2 }
    await write(driver, (webhooks) => webhooks.releaseAudit(endpointId(name), end))
  }
  const oldest = async () => {
    const { oldestAuditMs } = await write(driver, (webhooks) => webhooks.figures(NOW))
    return oldestAuditMs
  }
  assert.equal(await oldest(), 7)
  for (const name of ['a', 'paused', 'leased']) await advance(name, 2)
  await advance('gone', 1)
  assert.deepEqual(await due(NOW + 9), ['gone'])
  // What an operator disabled does not wait. What is gone still has entries that it lacks.
  const gone = { failures: 0, pausedUntil: 0, now: NOW, isGone: true }
  await write(driver, (webhooks) => webhooks.recordEndpoint(of('gone'), gone))
  assert.deepEqual([await due(NOW + 9), await oldest()], [[], 5])
  await write(driver, (webhooks) => webhooks.removeEndpoint(endpointId('gone')))
  assert.equal(await oldest(), 0)
})

test('the figures count what waits for enabled endpoints, and the breakers that are open', async () => {
  await using driver = sqlDriver()
  const names = ['open', 'almost', 'paused', 'off'] as const
  await withEndpoints(driver, ...names.map((name) => endpoint(name)))
  const tried = (name: string, failures: number, pausedUntil = 0) =>
    write(driver, (webhooks) =>
      webhooks.recordEndpoint(endpoint(name), { failures, pausedUntil, now: NOW, isGone: false }),
    )
  await tried('open', 5)
  await tried('almost', 4)
  await tried('paused', 0, NOW + 1)
  for (const [name, at] of [
    ['open', 6],
    ['almost', 4],
    ['paused', 8],
    ['off', 9],
  ] as const)
    for (const index of [0, 1])
      await add(driver, endpoint(name), `${name}${index}`, NOW - at + index)
  const off = {
    ...endpoint('off'),
    disabledAt: NOW,
    disabledReason: 'tenant' as const,
    failures: 9,
  }
  await write(driver, (webhooks) => webhooks.updateEndpoint(off))
  await store(driver, 'open1', 'delivered', null)
  const figures = (now: number) => write(driver, (webhooks) => webhooks.figures(now))
  assert.deepEqual(await figures(NOW), {
    waiting: 5,
    // The one that is paused is not late.
    oldestDueMs: 6,
    openBreakers: 1,
    oldestAuditMs: 0,
  })
  assert.equal((await figures(NOW + 1)).oldestDueMs, 9)
  assert.equal((await figures(NOW - 60)).oldestDueMs, 0)
})
