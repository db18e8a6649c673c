import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId, EventId, SessionId, SubjectId, TenantId } from '@bonded/contract'
import { inspectDevice, moveDevice } from '@bonded/core/operations/admin/devices'
import { inspectSession } from '@bonded/core/operations/admin/inspect-session'
import { listKeys } from '@bonded/core/operations/admin/keys'
import { changeSubject, inspectSubject } from '@bonded/core/operations/admin/subjects'
import { suspendTenant } from '@bonded/core/operations/admin/suspend-tenant'
import { findTenant } from '@bonded/core/operations/admin/tenants'
import { listDeliveries } from '@bonded/core/operations/admin/webhooks'
import { type Harness, harness, type TenantKeys } from '../../../tests/harness/harness.ts'
import { queryOf } from '../src/fields.ts'
import { actAt, linkIn, pageAt } from './page-at.ts'
import { heldEndpoint, NO_RECEIVER } from './setup.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

test('the figures are of the tenant, the workflow, and the hours that the address names', async () => {
  await using h = await harness()
  const other = await h.addTenant({ name: 'Other' })
  const start = h.clock.now()
  const create = async (ms: number, workflow: string, keys = h.shop) => {
    h.clock.set(ms)
    await h.create({ workflow }, keys)
  }
  // It is half past nine. The hour before the last ends at eight.
  const eight = -1.5 * HOUR
  await create(-60 * DAY, 'credit_application')
  await create(-5 * DAY, 'credit_application')
  await create(eight - 3.5 * HOUR, 'credit_application', other)
  await create(eight - 1, 'strict')
  await create(eight, 'credit_application')
  await create(0, 'strict', other)
  assert.equal(new Date(start).toISOString(), '2026-11-21T09:30:00.000Z')
  const createdIn = (page: string) => Number(/Created by .*?in total (\d+)/.exec(page)?.[1] ?? 0)
  const [shop, second] = [`tenant=${h.shop.tenant.id}`, `tenant=${other.tenant.id}`]
  for (const [query, count] of [
    ['', 4],
    ['span=hour', 2],
    ['span=month', 5],
    ['span=year', 6],
    [`span=year&${shop}`, 4],
    [`span=year&${second}`, 2],
    ['span=hour&workflow=strict', 1],
    [`${shop}&workflow=strict`, 1],
    [`span=year&${shop}&workflow=credit_application`, 3],
    ['span=hour&end=2026-11-21T08:00', 1],
    ['span=hour&end=2026-11-21T09:00', 2],
    [`span=hour&end=2026-11-21T09:00&${second}`, 0],
  ] as const)
    assert.equal(createdIn(await pageAt(h, `/health?${query}`)), count, query)

  const follow = async (from: string, text: string | RegExp) => {
    const to = linkIn(await pageAt(h, from), text)
    assert.ok(to, `${from} has no link ${String(text)}`)
    return { to, page: await pageAt(h, to) }
  }
  const ofHour = await follow('/health', /2026-11-21 07:00/)
  assert.equal(createdIn(ofHour.page), 1)
  // Nor does the table of tenants and workflows have those of the hour after.
  assert.ok(!/Other|credit_application/.test(ofHour.page))
  const year = await follow(`/health?${shop}`, 'Last 52 weeks')
  assert.equal(createdIn(year.page), 4)
  const all = await follow(year.to, 'Show all tenants')
  assert.equal(createdIn(all.page), 6)
  const tenant = await follow('/health?span=hour', /Other/)
  assert.equal(createdIn(tenant.page), 1)
  const workflow = await follow(`/health?span=year&${shop}`, '<code>strict</code>')
  assert.equal(createdIn(workflow.page), 1)
  const present = await follow(ofHour.to, 'This hour and the last')
  assert.equal(createdIn(present.page), 2)
})

test('a past time has all of its hours, and those of no other time', async () => {
  await using h = await harness()
  // It is half past nine. The time asked for ends at eight.
  const eight = -1.5 * HOUR
  for (const [span, ms] of [
    ['hour', 2 * HOUR],
    ['day', DAY],
  ] as const) {
    for (const at of [eight - ms - 1, eight - ms, eight - 1, eight]) {
      h.clock.set(at)
      await h.create({ workflow: span === 'hour' ? 'strict' : 'credit_application' })
    }
    h.clock.set(0)
    const workflow = span === 'hour' ? 'strict' : 'credit_application'
    const tenant = h.shop.tenant.id
    const query = `span=${span}&end=2026-11-21T08:00&tenant=${tenant}&workflow=${workflow}`
    const page = await pageAt(h, `/health?${query}`)
    assert.match(page, /Created by .*?in total 2\b/, span)
  }
})

test('the tenants are those that the search names', async () => {
  await using h = await harness()
  const other = (await h.addTenant({ name: 'Other' })).tenant.id
  const found = async (q: string) =>
    [...(await pageAt(h, `/tenants?q=${q}`)).matchAll(/<code class="id">(ten_\w+)/g)].map(
      ([, id]) => id,
    )
  assert.deepEqual(new Set(await found('')), new Set([h.shop.tenant.id, other]))
  assert.deepEqual(await found('oTH'), [other])
  assert.deepEqual(await found(h.shop.tenant.id), [h.shop.tenant.id])
})

/** A user with a bond, and what addresses call it. */
async function bonded(h: Harness, keys: TenantKeys) {
  const phone = await h.register()
  const session = await h.create(undefined, keys)
  await h.claim(phone, session)
  await h.attest(phone, await h.view(phone, session))
  const reference = String((await h.get(session, keys)).body.subject_ref)
  return {
    tenant: keys.tenant.id,
    session: session.id as SessionId,
    device: phone.device_id as DeviceId,
    subject: phone.subject_id as SubjectId,
    reference,
  }
}

test('a page about one of two shows that one', async () => {
  await using h = await harness()
  const tenantId = (await h.addTenant({ name: 'Other' })).tenant.id
  const [a, b] = [await bonded(h, h.shop), await bonded(h, h.shop)]
  await h.service.store.write(({ devices }) =>
    devices.pairwise({ tenantId, subjectId: b.subject, subjectRef: a.reference }),
  )
  for (const { session } of [a, b])
    await h.api('GET', `/sessions/${session}/receipt`, { token: h.shop.server })
  const has = async (address: string) => {
    const page = await pageAt(h, address)
    return (['session', 'device', 'subject'] as const).map((name) =>
      page.includes(`<code class="id">${a[name]}</code>`)
        ? 'a'
        : page.includes(`<code class="id">${b[name]}</code>`)
          ? 'b'
          : '',
    )
  }
  for (const [name, { session, device, subject, reference }] of [
    ['a', a],
    ['b', b],
  ] as const) {
    assert.deepEqual(await has(`/sessions/${session}`), [name, name, ''])
    assert.deepEqual(await has(`/receipt?session=${session}`), [name, '', ''])
    assert.deepEqual(await has(`/devices/${device}`), [name, name, name])
    assert.deepEqual(await has(`/user?subject=${subject}`), ['', name, name])
    assert.deepEqual(await has(`/user${queryOf(a.tenant, reference)}`), ['', name, name])
  }
  // Another tenant knows another user by the same reference.
  assert.deepEqual(await has(`/user${queryOf(tenantId, a.reference)}`), ['', 'b', 'b'])
  const tenants = [a.tenant, tenantId]
  for (const named of tenants) {
    const page = await pageAt(h, `/tenants/${named}`)
    const shown = tenants.filter((id) => page.includes(`<code class="id">${id}</code>`))
    assert.deepEqual(shown, [named])
  }
})

test('an action changes what its address names, and nothing that is like it', async () => {
  await using h = await harness({ webhooks: NO_RECEIVER })
  const { service } = h
  const other = await h.addTenant({ name: 'Other' })
  const [a, b] = [await bonded(h, h.shop), await bonded(h, other)]
  await service.store.write(function* ({ devices, subjects }) {
    yield* devices.pairwise({
      tenantId: b.tenant,
      subjectId: a.subject,
      subjectRef: 'x'.repeat(43),
    })
    for (const [tenantId, subjectId] of [
      [a.tenant, a.subject],
      [b.tenant, a.subject],
      [b.tenant, b.subject],
    ] as const)
      yield* subjects.pauseInbox({ tenantId, subjectId }, h.clock.now() + HOUR)
  })
  const live = { [a.tenant]: await h.create(), [b.tenant]: await h.create(undefined, other) }
  const [session = ''] = Object.values(live).map(({ id }) => id)
  const keyOf = async (tenant: TenantId) => String((await listKeys(service, tenant))[0]?.key)
  const key = await keyOf(a.tenant)
  /** All that an action can change, by its name. */
  const state = async () => {
    const found: Record<string, unknown> = {}
    for (const { tenant, subject, device } of [a, b]) {
      found[tenant] = (await findTenant(service, tenant)).suspendedAt !== undefined
      for (const each of await listKeys(service, tenant)) found[each.key] = each.revokedAt !== null
      const record = await inspectSubject(service, subject)
      found[subject] = record.blockedAt !== undefined
      for (const each of record.references)
        found[`${subject} ${each.tenantId}`] = each.inboxPausedUntil > h.clock.now()
      found[device] = (await inspectDevice(service, device)).device.status
      const id = live[tenant]?.id as SessionId
      found[id] = (await inspectSession(service, id)).state
    }
    return found
  }
  const changedBy = async (address: string) => {
    const before = await state()
    await actAt(h, address)
    const after = await state()
    return Object.keys(after).filter((name) => after[name] !== before[name])
  }
  assert.deepEqual(await changedBy(`/sessions/${session}/end`), [session])
  assert.deepEqual(await changedBy(`/devices/${a.device}/block`), [a.device])
  await moveDevice(service, b.device, 'block')
  assert.deepEqual(await changedBy(`/devices/${a.device}/unblock`), [a.device])
  assert.deepEqual(await changedBy(`/users/${a.subject}/block`), [a.subject])
  await changeSubject(service, b.subject, 'block')
  assert.deepEqual(await changedBy(`/users/${a.subject}/unblock`), [a.subject])
  assert.deepEqual(await changedBy(`/users/${a.subject}/resume-inbox/${b.tenant}`), [
    `${a.subject} ${b.tenant}`,
  ])
  assert.deepEqual(await changedBy(`/tenants/${a.tenant}/keys/${key}/revoke`), [key])
  await assert.rejects(
    actAt(h, `/tenants/${a.tenant}/keys/${await keyOf(b.tenant)}/revoke`),
    /no such key/,
  )
  assert.deepEqual(await changedBy(`/tenants/${a.tenant}/suspend`), [a.tenant])
  await suspendTenant(service, b.tenant)
  assert.deepEqual(await changedBy(`/tenants/${a.tenant}/resume`), [a.tenant])
})

test('a delivery shows when it was created, and when its next attempt is', async () => {
  await using h = await harness({ webhooks: NO_RECEIVER })
  const tenantId = h.shop.tenant.id
  await heldEndpoint(h.service, tenantId)
  await h.create()
  const { deliveries } = await listDeliveries(h.service, { tenantId, limit: 1 })
  const [delivery] = deliveries
  assert.ok(delivery)
  const dueAt = Date.parse('2026-11-22T10:00:00.000Z')
  await h.service.store.write(({ webhooks }) => webhooks.retry(delivery, dueAt))
  const page = await pageAt(h, `/events/${delivery.eventId}`)
  assert.match(
    page,
    /Created<.*?2026-11-21 09:30:00 UTC.*?Next attempt<.*?2026-11-22 10:00:00 UTC/s,
  )
})

test('a delivery is shown and sent again for its event, its endpoint, and its time', async () => {
  await using h = await harness({ webhooks: NO_RECEIVER })
  const { service } = h
  const other = await h.addTenant({ name: 'Other' })
  const endpointOf = (tenantId: TenantId) => heldEndpoint(service, tenantId)
  const tenantId = h.shop.tenant.id
  const [a, b, c] = [
    await endpointOf(tenantId),
    await endpointOf(tenantId),
    await endpointOf(other.tenant.id),
  ]
  const sessions: string[] = []
  for (const ms of [-2 * HOUR, -1, 0]) {
    h.clock.set(ms)
    sessions.unshift((await h.create()).id)
    await h.create(undefined, other)
  }
  h.clock.set(HOUR - 1)
  const all = async (state?: 'pending') =>
    (
      await Promise.all(
        [tenantId, other.tenant.id].map((id) =>
          listDeliveries(service, { tenantId: id, state, limit: 100 }),
        ),
      )
    ).flatMap(({ deliveries }) =>
      deliveries.map(({ eventId, endpointId }) => `${eventId} ${endpointId}`),
    )
  const [late = '', , , , old = ''] = await all()
  const [event, oldest] = [late, old].map((each) => each.split(' ')[0] as EventId) as [
    EventId,
    EventId,
  ]
  const page = await pageAt(h, `/events/${event}`)
  assert.deepEqual(
    [event, oldest, a, b, c, ...sessions].map((id) => page.includes(id)),
    [true, false, true, true, false, true, false, false],
  )
  await actAt(h, `/events/${oldest}/retry/${b}`)
  assert.deepEqual(await all('pending'), [`${oldest} ${b}`])
  await assert.rejects(actAt(h, `/events/${event}/retry/${c}`), /no such endpoint/)
  const { tenant } = other
  await assert.rejects(
    actAt(h, `/tenants/${tenant.id}/endpoints/${a}/recover/7d`),
    /no such endpoint/,
  )
  assert.deepEqual(await all('pending'), [`${oldest} ${b}`])
  for (const [since, count] of [
    ['1h', 2],
    ['24h', 3],
  ] as const) {
    await actAt(h, `/tenants/${tenantId}/endpoints/${a}/recover/${since}`)
    const pending = (await all('pending')).filter((each) => each !== `${oldest} ${b}`)
    assert.equal(pending.length, count, since)
    assert.ok(pending.every((each) => each.endsWith(a)))
  }
})
