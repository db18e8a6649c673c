import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TenantId } from '@bonded/contract'
import { listNodes } from '../../../../core/src/operations/admin/list-nodes.ts'
import { reportTotals } from '../../../../core/src/operations/admin/report-totals.ts'
import {
  purgeLogs,
  purgeSessions,
} from '../../../../core/src/operations/maintenance/purge-sessions.ts'
import type { Service } from '../../../../core/src/operations/service.ts'
import type { Instant } from '../../../../core/src/domain/session.ts'
import {
  HOUR_MS,
  medianLatencyS,
  TOTALS_DELAY_MS,
  TOTALS_RETENTION_MS,
} from '../../../../core/src/domain/totals.ts'
import type { Store } from '../../../../core/src/ports/store.ts'
import { type Harness, harness } from '../../../../../tests/harness/harness.ts'
import { randomFor } from '../../../../../tests/random.ts'
import {
  LIVES,
  LivingSession,
  NOTHING,
  openStore,
  tallyOf,
} from '../../../../store/tests/tables/total-scene.ts'

const DAY_MS = 24 * HOUR_MS
const DYING = join(import.meta.dirname, '../../../../store/tests/tables/dying-counter.ts')
/** More than any of these tests has. */
const ALL = 1_000

type Random = (below: number) => number

/** Sessions with random lives, and their steps in the order of time. */
function history(
  { store }: { readonly store: Store },
  of: { tenants: readonly TenantId[]; from: Instant; forMs: number; sessions: number },
  random: Random,
) {
  const steps: { readonly at: Instant; readonly run: (on: Store) => Promise<void> }[] = []
  const sessions = Array.from({ length: of.sessions }, () => {
    const createdAt = of.from + random(of.forMs)
    const life = LIVES[random(LIVES.length)] ?? []
    // A bond comes within five minutes, and what follows within two more.
    let at = createdAt
    const times = life.map(() => (at += 1 + random(60_000)))
    const session = new LivingSession(
      store,
      {
        tenantId: of.tenants[random(of.tenants.length)] as TenantId,
        workflow: `w${random(2)}`,
        createdAt,
        isInbox: random(4) === 0,
        steps: life,
        times,
      },
      Uint8Array.from({ length: 16 }, () => random(256)),
    )
    steps.push({ at: createdAt, run: (on) => session.create(on) })
    for (const [index, step] of life.entries()) {
      const when = step === 'expire' ? createdAt + 8 * 60_000 : (times[index] ?? 0)
      steps.push({ at: when, run: (on) => session.take(on, step, when) })
    }
    return session
  })
  return { sessions, steps: steps.toSorted((a, b) => a.at - b.at) }
}

/** The totals as stored and reported, by the keys of a tally. */
async function reported(h: Harness, tenants: readonly TenantId[], now: Instant) {
  const service = at(h.service, now)
  const found = new Map<string, unknown>()
  for (const tenantId of tenants)
    for (const workflow of ['w0', 'w1']) {
      const query = { tenantId, workflow, since: 0, by: 'hour', limit: ALL } as const
      const { rows } = await reportTotals(service, query)
      for (const { from, tenantId: _, workflow: __, ...totals } of rows)
        found.set([tenantId, workflow, from].join(' '), totals)
    }
  return found
}

const at = (service: Service, now: Instant): Service => ({
  ...service,
  clock: { ...service.clock, now: () => now },
})

const sorted = (of: ReadonlyMap<string, unknown>) =>
  [...of].toSorted(([a], [b]) => (a < b ? -1 : 1))

async function scene(random: Random, { sessions = 150, forMs = 3 * DAY_MS } = {}) {
  const h = await harness()
  const tenants = [h.shop.tenant.id, (await h.addTenant({ name: 'Other' })).tenant.id]
  const from = h.clock.now() - DAY_MS
  return { h, tenants, from, ...history(h.service, { tenants, from, forMs, sessions }, random) }
}

test('the totals of a random history are those of its sessions, whenever they are counted and whatever is purged', async () => {
  const random = randomFor('totals')
  const { h, tenants, steps, sessions } = await scene(random)
  await using _ = h
  const expect = async (now: Instant, when: string) =>
    assert.deepEqual(sorted(await reported(h, tenants, now)), sorted(tallyOf(sessions, now)), when)
  for (const [index, { at: now, run }] of steps.entries()) {
    await run(h.service.store)
    if (steps[index + 1]?.at === now) continue
    const choice = random(30)
    if (choice < 5)
      await h.service.store.write(({ totals }) =>
        totals.count(now - TOTALS_DELAY_MS, 1 + random(8)),
      )
    if (choice === 5) while ((await purgeSessions(at(h.service, now))).more);
    if (choice === 6) await expect(now, 'meanwhile')
  }
  const end = (steps.at(-1)?.at ?? 0) + HOUR_MS
  await expect(end, 'at the end')
  while ((await purgeSessions(at(h.service, end + 2 * DAY_MS))).more);
  await expect(end + 2 * DAY_MS, 'after all sessions are purged')
})

test('nodes that count at once count each session once', async () => {
  const random = randomFor('totals of nodes')
  const { h, tenants, steps, sessions } = await scene(random, { sessions: 60, forMs: HOUR_MS })
  await using _ = h
  const { store } = h.service
  for (const { run } of steps) await run(store)
  const now = (steps.at(-1)?.at ?? 0) + HOUR_MS
  await using other = await openStore(h.databaseUrl ?? h.databaseFile, h.clock.now())
  const countAll = async (on: Store) => {
    while (await on.write(({ totals }) => totals.count(now, 3)));
  }
  await Promise.all([countAll(store), countAll(other), countAll(store), countAll(other)])
  assert.deepEqual(sorted(await reported(h, tenants, now)), sorted(tallyOf(sessions, now)))
})

for (const step of ['counted', 'committed'] as const)
  test(`a process that is killed after it has ${step} leaves each session counted once`, async () => {
    const random = randomFor(`totals ${step}`)
    const { h, tenants, steps, sessions } = await scene(random, { sessions: 20, forMs: HOUR_MS })
    await using _ = h
    for (const { run } of steps) await run(h.service.store)
    const now = (steps.at(-1)?.at ?? 0) + HOUR_MS
    const database = h.databaseUrl ?? h.databaseFile
    const child = spawn(process.execPath, [DYING, step, database, `${now}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
    const expected = sorted(tallyOf(sessions, now))
    assert.deepEqual(sorted(await reported(h, tenants, now)), expected)
    while (await h.service.store.write(({ totals }) => totals.count(now, 3)));
    assert.deepEqual(sorted(await reported(h, tenants, now)), expected)
  })

test('groups totals by day and by workflow, in pages, with their sum', async () => {
  const { h, tenants, steps, sessions } = await scene(randomFor('grouped totals'))
  await using _ = h
  for (const { run } of steps) await run(h.service.store)
  const now = (steps.at(-1)?.at ?? 0) + HOUR_MS
  const service = at(h.service, now)
  const all = [...tallyOf(sessions, now)]
  const created = (part: string) =>
    all.reduce((sum, [key, row]) => sum + (key.includes(part) ? row.created : 0), 0)
  const days = await reportTotals(service, { since: 0, by: 'day', limit: ALL })
  assert.equal(days.sum.created, sessions.length)
  assert.equal(
    days.rows.reduce((sum, row) => sum + row.created, 0),
    sessions.length,
  )
  assert.ok(days.rows.every(({ from }) => from !== null && from % DAY_MS === 0))
  const first = await reportTotals(service, { since: 0, by: 'workflow', limit: 3 })
  const rest = await reportTotals(service, { since: 0, by: 'workflow', limit: 3, skip: 3 })
  const query = { since: 0, by: 'workflow', limit: 3, isRanking: true } as const
  const ranking = await reportTotals(service, query)
  assert.deepEqual(ranking.rows, first.rows)
  assert.equal(
    ranking.sum.created,
    first.rows.reduce((sum, row) => sum + row.created, 0),
  )
  assert.equal(first.sum.created, sessions.length)
  const rows = [...first.rows, ...rest.rows]
  assert.equal(rows.length, tenants.length * 2)
  for (const { tenantId, workflow, created: count } of rows)
    assert.equal(count, created(`${tenantId} ${workflow}`))
  const failed = rows.map((row) => row.declined + row.reported + row.expired + row.stopped)
  assert.deepEqual(
    failed,
    failed.toSorted((a, b) => b - a),
  )
  const none = await reportTotals(service, { since: now + DAY_MS, by: 'hour', limit: ALL })
  assert.deepEqual([none.rows, none.sum], [[], NOTHING])
})

for (const kind of ['live', 'counted'] as const)
  test(`${kind} totals leave out the hour before, the hour after, other workflows and other tenants`, async () => {
    await using h = await harness()
    const { store } = h.service
    const [own, other] = [h.shop.tenant.id, (await h.addTenant({ name: 'Other' })).tenant.id]
    const hour = h.clock.now() - (h.clock.now() % HOUR_MS)
    let number = 0
    const create = (createdAt: Instant, tenantId = own, workflow = 'w0') => {
      const life = { tenantId, workflow, createdAt, isInbox: false, steps: [], times: [] }
      return new LivingSession(store, life, new Uint8Array(16).fill(++number)).create(store)
    }
    // The last moment of the hour before, the two of this hour, and the first one of the next.
    for (const at of [hour - 1, hour, hour + HOUR_MS - 1, hour + HOUR_MS]) await create(at)
    await create(hour, other)
    await create(hour, own, 'w1')
    await create(hour + HOUR_MS, other, 'w1')
    const now = hour + 2 * HOUR_MS
    if (kind === 'counted') while (await store.write(({ totals }) => totals.count(now, 3)));
    const service = at(h.service, now)
    const span = { since: hour, until: hour + HOUR_MS }
    const created = async (
      given: Partial<Parameters<typeof reportTotals>[1]>,
    ): Promise<readonly number[]> => {
      const query = { ...span, by: 'hour', limit: ALL, ...given } as const
      const { rows, sum } = await reportTotals(service, query)
      // A report that does not fit on its page sums all rows by another statement.
      const { sum: other } = await reportTotals(service, { ...query, limit: 1, skip: 1 })
      assert.equal(other.created, sum.created)
      return [sum.created, ...rows.map((row) => row.created)]
    }
    assert.deepEqual(await created({}), [4, 4])
    assert.deepEqual(await created({ tenantId: own }), [3, 3])
    assert.deepEqual(await created({ tenantId: own, workflow: 'w0' }), [2, 2])
    assert.deepEqual(await created({ workflow: 'w1' }), [1, 1])
    // A day begins with its first hour.
    assert.deepEqual(await created({ by: 'day' }), [5, 5])
    // The newest hour is first.
    assert.deepEqual(await created({ since: hour - 1, until: undefined }), [7, 2, 4, 1])
    assert.deepEqual(await created({ since: hour - 1, until: undefined, limit: 2 }), [7, 2, 4])
  })

test('a clock that was ahead does not keep later sessions from being counted', async () => {
  await using h = await harness()
  const count = (before: Instant) => h.service.store.write(({ totals }) => totals.count(before, 9))
  const ahead = h.clock.now() + 30 * DAY_MS
  await h.create()
  await count(ahead)
  h.clock.advance(DAY_MS)
  // What a purge does. The service's own purge may come later than the next session.
  await count(h.clock.now() - TOTALS_DELAY_MS)
  await h.create()
  h.clock.advance(HOUR_MS)
  while (await count(h.clock.now()));
  const query = { since: 0, by: 'hour', limit: ALL } as const
  assert.equal((await reportTotals(h.service, query)).sum.created, 2)
})

test('deletes totals 400 days after their hour', async () => {
  await using h = await harness()
  await h.create()
  const since = { since: 0, by: 'hour', limit: ALL } as const
  const later = at(h.service, h.clock.now() + 2 * DAY_MS)
  while ((await purgeSessions(later)).more);
  assert.equal((await reportTotals(later, since)).sum.created, 1)
  const end = h.clock.now() - (h.clock.now() % HOUR_MS) + TOTALS_RETENTION_MS
  for (const [now, left] of [
    [end, 1],
    [end + 1, 0],
  ] as const) {
    await purgeLogs(at(h.service, now))
    assert.equal((await reportTotals(later, since)).sum.created, left)
  }
})

test('estimates the median of approvals within its bucket', () => {
  const of = (...counts: number[]) =>
    medianLatencyS(NOTHING.latencies.map((_, i) => counts[i] ?? 0))
  assert.equal(of(), undefined)
  assert.equal(of(4), 2.5)
  assert.equal(of(1, 0, 2, 1), 15)
  assert.equal(of(0, 0, 0, 0, 0, 0, 0, 3), Infinity)
})

test('lists the nodes that serve, where the database can tell', async () => {
  await using h = await harness()
  await h.service.peers.exchange?.()
  const nodes = await listNodes(h.service)
  assert.equal(nodes.length, h.databaseUrl === undefined ? 0 : 1)
})
