import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeviceId, makeId, type TenantId } from '@bonded/contract'
import type { AuditTarget } from '@bonded/core/domain/audit'
import { listDeliveries, retryEvent } from '@bonded/core/operations/admin/webhooks'
import { recordAction } from '@bonded/core/operations/audit/audit'
import { harness } from '../../../tests/harness/harness.ts'
import { queryOf } from '../src/fields.ts'
import { allPages, assertPages, idsAt, pageAt } from './page-at.ts'
import { heldEndpoint, NO_RECEIVER } from './setup.ts'

const HOUR = 3_600_000

const at = (ms: number) => new Date(ms).toISOString().slice(0, 16)

test('the changes are those that the filters name, and each is on one of the pages', async () => {
  await using h = await harness()
  const other = (await h.addTenant({ name: 'Other' })).tenant.id
  const [phone, stranger] = [await h.register(), await h.register()]
  const record = async (ms: number, action: string, target: AuditTarget) => {
    h.clock.set(ms)
    const requestId = makeId('req', h.service.random.id())
    const actor = { kind: 'operator', name: 'ada' } as const
    await recordAction(h.service, { action, actor, requestId, target })
    return requestId
  }
  const start = h.clock.now()
  const deviceId = phone.device_id as DeviceId
  const a = await record(0, 'device block', { deviceId })
  const b = await record(HOUR, 'device block', { deviceId: stranger.device_id as DeviceId })
  const c = await record(2 * HOUR, 'tenant suspend', { tenantId: other })
  const d = await record(2 * HOUR, 'session show', { tenantId: h.shop.tenant.id })
  const row = /<code class="id">(req_\w+)<\/code>/g
  for (const [query, expected] of [
    ['', [c, b, a]],
    ['reads=1', [d, c, b, a]],
    [`about=${phone.device_id}`, [a]],
    [`about=${stranger.subject_id}`, [b]],
    [`about=${other}`, [c]],
    ['action=device+block', [b, a]],
    [`since=${at(start + HOUR)}`, [c, b]],
    [`until=${at(start + HOUR)}`, [b, a]],
    [`since=${at(start + HOUR)}&until=${at(start + HOUR)}`, [b]],
    ['before=2', [a]],
  ] as const)
    assert.deepEqual(await idsAt(h, `/changes?${query}`, row), expected, query)
  const many = [a, b]
  for (let count = 0; count < 110; count++) {
    const isOther = count % 10 === 0
    const id = await record(3 * HOUR + count, isOther ? 'tenant resume' : 'device block', {})
    if (!isOther) many.push(id)
  }
  const pages = await allPages(h, '/changes?action=device+block', { text: 'Earlier entries', row })
  assertPages(pages, many.toReversed())
})

test('the deliveries are of the tenant and the state, and each is on one of the pages', async () => {
  await using h = await harness({ webhooks: NO_RECEIVER })
  const other = await h.addTenant({ name: 'Other' })
  const create = (tenantId: TenantId) => heldEndpoint(h.service, tenantId)
  const tenantId = h.shop.tenant.id
  const [a, b, c] = [await create(tenantId), await create(tenantId), await create(other.tenant.id)]
  for (let count = 0; count < 28; count++) {
    h.clock.set(count)
    await h.create()
    if (count < 2) await h.create(undefined, other)
  }
  const row = /<code class="id">(evt_\w+)<\/code>.*?<code class="id">(we_\w+)<\/code>/gs
  const at = (tenant: string, query: string) =>
    allPages(h, `/tenants/${tenant}/deliveries${query}`, { text: 'Earlier deliveries', row })
  const stored = async () => {
    const { deliveries } = await listDeliveries(h.service, { tenantId, limit: 100 })
    return deliveries.map(({ eventId, endpointId }) => `${eventId} ${endpointId}`)
  }
  const all = await stored()
  assert.deepEqual(
    [a, b].map((id) => all.filter((each) => each.endsWith(id)).length),
    [28, 28],
  )
  assertPages(await at(tenantId, ''), all)
  const foreign = (await at(other.tenant.id, '')).flat()
  assert.deepEqual(
    foreign.map((each) => each.endsWith(c)),
    [true, true],
  )
  const [event = ''] = all.at(-1)?.split(' ') ?? []
  await retryEvent(h.service, event as Parameters<typeof retryEvent>[1], a)
  assert.deepEqual((await at(tenantId, '?state=pending')).flat(), [`${event} ${a}`])
  assertPages(
    await at(tenantId, '?state=held'),
    all.filter((each) => each !== `${event} ${a}`),
  )
})

test('the rejections are those that the filters name, and each is on one of the pages', async () => {
  await using h = await harness()
  const { session: bond, phone } = await h.reach('completed')
  const { subject_ref } = (await h.get(bond)).body
  const stranger = await h.register()
  const start = h.clock.now()
  const reject = async (ms: number, by = phone) => {
    h.clock.set(ms)
    const session = await h.create()
    await h.claim(by, { ...session, nonce: 'A'.repeat(43) })
    return session
  }
  const a = (await reject(0)).id
  const b = (await reject(HOUR, stranger)).id
  const taken = await h.create()
  await h.claim(phone, taken)
  h.clock.set(2 * HOUR)
  const claimed = await h.create()
  await h.claim(phone, claimed)
  await h.claim(stranger, claimed)
  const c = claimed.id
  const row = /<code class="id">(sess_\w+)<\/code>/g
  const page = await pageAt(h, '/rejections')
  const request = /<code class="id">(req_\w+)<\/code>(?!.*<code class="id">req_)/s.exec(page)?.[1]
  for (const [query, expected] of [
    ['', [c, b, a]],
    [`q=${request}`, [a]],
    [`q=${b}`, [b]],
    [`q=${subject_ref}`, [a]],
    ['q=none', []],
    ['reason=session_claimed', [c]],
    ['reason=nonce_mismatch', [b, a]],
    [`since=${at(start + HOUR)}`, [c, b]],
    [`until=${at(start + HOUR)}`, [b, a]],
  ] as const)
    assert.deepEqual(await idsAt(h, `/rejections?${query}`, row), expected, query)
  const many = [a, b]
  for (let count = 0; count < 53; count++) many.push((await reject(3 * HOUR + count)).id)
  const address = '/rejections?reason=nonce_mismatch'
  assertPages(await allPages(h, address, { text: 'Earlier rejections', row }), many.toReversed())
})

test('the sessions are of the user, and each is on one of the pages', async () => {
  await using h = await harness()
  const { session: bond } = await h.reach('completed')
  const { subject_ref } = (await h.get(bond)).body
  const { session: foreign } = await h.reach('completed')
  const many = [bond.id]
  for (let count = 0; count < 53; count++) {
    h.clock.set(count + 1)
    many.push((await h.create({ workflow: 'named', subject_ref })).id)
    if (count < 2) await h.create()
  }
  const row = /<code class="id">(sess_\w+)<\/code>/g
  const address = `/sessions${queryOf(h.shop.tenant.id, subject_ref)}`
  assertPages(await allPages(h, address, { text: 'Earlier sessions', row }), many.toReversed())
  const other = (await h.addTenant({ name: 'Other' })).tenant.id
  assert.deepEqual(await idsAt(h, `/sessions${queryOf(other, subject_ref)}`, row), [])
  const another = (await h.get(foreign)).body.subject_ref
  const ofAnother = `/sessions${queryOf(h.shop.tenant.id, another)}`
  assert.deepEqual(await idsAt(h, ofAnother, row), [foreign.id])
})
