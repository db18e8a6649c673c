import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import {
  parseBounds,
  RETENTION_BOUNDS,
  type SomeRetention,
} from '../../../core/src/domain/retention.ts'
import { updateTenant } from '../../../core/src/operations/admin/update-tenant.ts'
import { purgeSessions } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import { type Harness, harness, type TenantKeys } from '../../../../tests/harness/harness.ts'
import { until } from '../../../../tests/harness/process.ts'
import { addEndpoints, ECHO, settle } from '../subject/erased-user.ts'
import { sql } from '../subject/stored-bytes.ts'

const DAY_MS = 24 * 60 * 60_000
const WITHIN_MS = 20_000
const TABLES = {
  session: 'sessions',
  rejection: 'reasons',
  webhook_delivery: 'deliveries',
  receipt: 'receipts',
} as const
const USUAL = { sessions: 1, reasons: 30, deliveries: 30, receipts: 30 }
const SHORT = { reasons: 7, deliveries: 8, receipts: 9 }
const LONG = { sessions: 20, reasons: 60, deliveries: 90, receipts: 400 }

const setRetention = (service: Service, { tenant }: TenantKeys, retention: SomeRetention) =>
  updateTenant(service, tenant.id, {
    addOrigins: [],
    removeOrigins: [],
    addWorkflows: [],
    removeWorkflows: [],
    retention,
  })

/** Leaves a row of the tenant in each table, and further rows of the same age. */
async function addRows(h: Harness, keys: TenantKeys): Promise<void> {
  const phone = await h.register()
  const session = await h.create(undefined, keys)
  const claimed = await h.claim(phone, session)
  await h.attest(phone, claimed.body, { tampering: { hash: Buffer.alloc(32) } })
  await h.attest(phone, (await h.claim(phone, session)).body)
  await h.complete(session, {}, keys)
}

async function setUp(retentionBounds = RETENTION_BOUNDS) {
  const h = await harness({ webhooks: ECHO, settings: { retentionBounds } })
  const settings = { ...h.service.settings, retentionBounds: RETENTION_BOUNDS }
  const service = { ...h.service, settings }
  const [short, long] = [await h.addTenant({ name: 'Short' }), await h.addTenant({ name: 'Long' })]
  const tenants = { usual: h.shop, short, long }
  await addEndpoints(h, Object.values(tenants))
  await setRetention(service, short, SHORT)
  await setRetention(service, long, LONG)
  const from = h.clock.now()
  for (const keys of Object.values(tenants)) await addRows(h, keys)
  await until(async () => {
    await settle(h)
    const found = Object.values(await left(h, tenants))
    return found.every((tables) => tables.length === Object.keys(TABLES).length) || undefined
  }, WITHIN_MS)
  return { h, tenants, from, to: h.clock.now() }
}

/** The tables that have rows of each tenant. */
async function left(h: Harness, tenants: Record<string, TenantKeys>) {
  const found: Record<string, string[]> = {}
  for (const [name, { tenant }] of Object.entries(tenants)) {
    found[name] = []
    for (const table of Object.keys(TABLES)) {
      const of = `select 1 as one from ${table} where tenant_id = '${tenant.id}' limit 1`
      if ((await sql(h, of)).length > 0) found[name].push(table)
    }
  }
  return found
}

/** Purges, and waits for what the maintenance of the service is just purging. */
async function purgeUntil(h: Harness, isDone: () => Promise<boolean>): Promise<void> {
  await until(async () => {
    while ((await purgeSessions(h.service)).more);
    return (await isDone()) || undefined
  }, WITHIN_MS)
}

test('purges the rows of each tenant at the end of its own retention, or of the service’s', async () => {
  const { h, tenants, from, to } = await setUp()
  await using _ = h
  const periods = { usual: USUAL, short: { ...USUAL, ...SHORT }, long: LONG }
  const expected = (days: number) =>
    Object.fromEntries(
      Object.entries(periods).map(([name, own]) => [
        name,
        Object.entries(TABLES)
          .filter(([, kind]) => own[kind] > days)
          .map(([table]) => table),
      ]),
    )
  assert.deepEqual(await left(h, tenants), expected(0))
  const ends = new Set(Object.values(periods).flatMap((own) => Object.values(own)))
  for (const days of [...ends].toSorted((a, b) => a - b)) {
    h.clock.advance(from + days * DAY_MS - 1 - h.clock.now())
    await purgeSessions(h.service)
    assert.deepEqual(await left(h, tenants), expected(days - 1), `before ${days} days`)
    h.clock.advance(to + days * DAY_MS - h.clock.now())
    await purgeUntil(h, async () => isDeepStrictEqual(await left(h, tenants), expected(days)))
  }
})

test('stays within bounds that became narrower', async () => {
  const { h, tenants } = await setUp({ ...RETENTION_BOUNDS, receipts: { min: 20, max: 40 } })
  await using _ = h
  const receipts = async () =>
    Object.entries(await left(h, tenants))
      .filter(([, tables]) => tables.includes('receipt'))
      .map(([name]) => name)
      .join()
  h.clock.advance(19 * DAY_MS)
  await purgeSessions(h.service)
  assert.equal(await receipts(), 'usual,short,long')
  h.clock.advance(DAY_MS)
  await purgeUntil(h, async () => (await receipts()) === 'usual,long')
  h.clock.advance(10 * DAY_MS)
  await purgeUntil(h, async () => (await receipts()) === 'long')
  h.clock.advance(10 * DAY_MS)
  await purgeUntil(h, async () => (await receipts()) === '')
})

test('reads bounds, and leaves out those of the service that the log of receipts rules out', () => {
  const { receipts: _, ...others } = RETENTION_BOUNDS
  assert.deepEqual(parseBounds('', 100), { ...others, receipts: { min: 1, max: 100 } })
  assert.deepEqual(parseBounds('audit=30-60, receipts=2-100', 100), {
    ...others,
    audit: { min: 30, max: 60 },
    receipts: { min: 2, max: 100 },
  })
  for (const wrong of ['audit=2-1', 'audit=0-1', 'cookies=1-2', 'audit=1-2,audit=1-2', 'audit=1'])
    assert.equal(parseBounds(wrong, 100), undefined, wrong)
  assert.equal(parseBounds('receipts=1-101', 100), undefined)
  assert.equal(parseBounds('sessions=1-36501', 36_501), undefined)
})

test('rejects a retention outside of the bounds, and keeps the others of the tenant', async () => {
  await using h = await harness()
  const set = (retention: SomeRetention) => setRetention(h.service, h.shop, retention)
  await set({ receipts: 90, audit: 365 })
  for (const wrong of [{ audit: 364 }, { sessions: 31 }, { reasons: 1.5 }])
    await assert.rejects(set(wrong), { code: 'invalid', message: /BONDED_RETENTION_BOUNDS/ })
  const { tenant } = await set({ receipts: 30, sessions: 2 })
  assert.deepEqual(tenant.retention, { receipts: 30, audit: 365, sessions: 2 })
})
