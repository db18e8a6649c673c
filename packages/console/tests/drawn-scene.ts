import { type DeviceId, type EventId, makeId, parseId, type SessionId } from '@bonded/contract'
import { issueKey, listKeys, revokeKey } from '@bonded/core/operations/admin/keys'
import { changeSubject } from '@bonded/core/operations/admin/subjects'
import { moveDevice } from '@bonded/core/operations/admin/devices'
import { suspendTenant } from '@bonded/core/operations/admin/suspend-tenant'
import { createEndpoint } from '@bonded/core/operations/admin/webhooks'
import { recordAction } from '@bonded/core/operations/audit/audit'
import { appendReceipts } from '@bonded/core/operations/receipt/receipt-log'
import type { WebhookEndpoint } from '@bonded/core/ports/tables/webhook-table'
import { harness } from '../../../tests/harness/harness.ts'
import { namer } from '../../../tests/harness/expected-text.ts'
import { NO_RECEIVER } from './setup.ts'

const MINUTE = 60_000
const SECOND = 1_000

/**
 * A service with two tenants and several users, all of whose times and names differ, so that a page
 * that shows one for another, or drops one, is not the same.
 */
export async function drawnScene() {
  const h = await harness({ webhooks: NO_RECEIVER })
  const { service, shop } = h
  h.clock.advance(SECOND)
  const north = await h.addTenant({
    name: 'North & <South>',
    environment: 'production',
    origins: ['https://north.example', 'https://www.north.example'],
    workflows: [{ name: 'pay', actions: ['send', 'stop'], passport: 'required' }],
    retention: { receipts: 90, sessions: 7 },
  })
  const known = new Map<string, string>([
    [shop.tenant.id, 'TENANT-SHOP'],
    [north.tenant.id, 'TENANT-NORTH'],
    [shop.publishable, 'PUBLISHABLE-SHOP'],
    [north.publishable, 'PUBLISHABLE-NORTH'],
  ])
  const tick = (ms: number) => h.clock.advance(ms)
  const name = (id: string, as: string) => {
    known.set(id, as)
    return id
  }
  const context = {
    requester: { kind: 'agent', name: 'Loan agent', detail: 'on CI' },
    display: [
      { label: 'Amount', value: '12,500 EUR' },
      { label: 'To', value: 'Ada' },
    ],
    text: '{\n  "loan": 12500\n}',
  }
  const phoneOf = async (as: string, approver?: Awaited<ReturnType<typeof h.register>>) => {
    const phone = await h.register(approver)
    name(phone.device_id, `DEVICE-${as}`)
    if (approver === undefined) name(phone.subject_id, `SUBJECT-${as}`)
    tick(SECOND)
    return phone
  }
  const [ann, bob, cy] = [await phoneOf('ANN'), await phoneOf('BOB'), await phoneOf('CY')]
  tick(2 * MINUTE)
  const second = await phoneOf('ANN-2', ann)
  tick(3 * MINUTE)
  const create = async (as: string, body: object, keys = shop) => {
    const session = await h.create(body, keys)
    name(session.id, `SESSION-${as}`)
    return session
  }
  const bond = async (phone: typeof ann, session: Awaited<ReturnType<typeof h.create>>) => {
    tick(4 * SECOND)
    await h.claim(phone, session)
    tick(5 * SECOND)
    await h.attest(phone, await h.view(phone, session))
  }

  const completed = await create('COMPLETED', { workflow: 'credit_application', context })
  await h.claim(ann, { ...completed, nonce: 'A'.repeat(43) })
  await bond(ann, completed)
  const reference = String((await h.get(completed)).body.subject_ref)
  name(reference, 'REFERENCE-ANN')
  await h.api('GET', `/sessions/${completed.id}/receipt`, { token: shop.server })
  tick(30 * SECOND)
  await h.complete(completed, { 'x-bond-outcome': 'in_review' })
  tick(MINUTE)
  const bonded = await create('BONDED', { workflow: 'wire_transfer', action: 'change_limit' })
  tick(20 * SECOND)
  await bond(bob, bonded)
  name(String((await h.get(bonded)).body.subject_ref), 'REFERENCE-BOB')
  tick(MINUTE)
  const declined = await create('DECLINED', { workflow: 'credit_application' })
  tick(7 * SECOND)
  await h.claim(cy, declined)
  await h.decline(cy, declined, 'user_declined')
  tick(70 * MINUTE)
  const killed = await create('KILLED', { workflow: 'strict' })
  tick(6 * SECOND)
  await h.kill(killed)
  await h.complete(killed)
  const waiting = await create('WAITING', { workflow: 'named', subject_ref: reference })
  tick(8 * SECOND)

  const issued = await issueKey(service, {
    tenantId: shop.tenant.id,
    kind: 'server',
    name: 'batch job',
    scope: [{ workflow: 'strict', actions: ['act'] }],
    lifetimeMs: undefined,
  })
  name(issued.key, 'KEY-BATCH')
  await revokeKey(service, issued.key)
  for (const { key, kind } of await listKeys(service, shop.tenant.id))
    if (kind === 'server' && !known.has(key)) name(key, 'KEY-SHOP')
  for (const { key, kind } of await listKeys(service, north.tenant.id))
    if (kind === 'server') name(key, 'KEY-NORTH')
  const record = (action: string, target: object, of: object = {}) =>
    recordAction(service, {
      action,
      actor: { kind: 'operator', name: 'eve', address: '198.51.100.7' },
      requestId: makeId('req', service.random.id()),
      target,
      ...of,
    })
  await record('device block', { deviceId: parseId('dev', ann.device_id) }, { reason: 'T-1' })
  tick(9 * SECOND)
  await moveDevice(service, cy.device_id as DeviceId, 'block')
  await changeSubject(service, parseId('sub', bob.subject_id) as never, 'block')
  tick(10 * SECOND)
  await service.store.write(({ subjects }) =>
    subjects.pauseInbox(
      { tenantId: shop.tenant.id, subjectId: parseId('sub', ann.subject_id) as never },
      service.clock.now() + 45 * MINUTE,
    ),
  )
  await appendReceipts(service)
  await suspendTenant(service, north.tenant.id)
  tick(11 * SECOND)
  // Added at last: nothing is sent until the clock moves.
  const hooks: WebhookEndpoint[] = []
  for (const [as, change] of [
    ['WORKS', {}],
    ['FAILS', {}],
    ['GONE', { disabledAt: service.clock.now() - 12 * SECOND, disabledReason: 'gone' }],
    ['OFF', { disabledAt: service.clock.now() - 13 * SECOND, disabledReason: 'operator' }],
  ] as const) {
    const url = `https://${as.toLowerCase()}.example/hook`
    const of = { tenantId: shop.tenant.id, url, events: null, scheme: 'v1' } as const
    const { endpoint } = await createEndpoint(service, of)
    name(endpoint.id, `ENDPOINT-${as}`)
    await service.store.write(({ webhooks }) => webhooks.updateEndpoint({ ...endpoint, ...change }))
    hooks.push(endpoint)
    tick(SECOND)
  }
  const [works, fails] = hooks as [WebhookEndpoint, WebhookEndpoint]
  const now = service.clock.now()
  const eventId = name(makeId('evt', service.random.id()), 'EVENT') as EventId
  await service.store.write(function* ({ webhooks }) {
    const change = { failures: 3, pausedUntil: 0, now, isGone: false }
    yield* webhooks.recordEndpoint(fails, change)
    for (const endpoint of [works, fails])
      yield* webhooks.add({
        endpoint,
        eventId,
        type: 'session.killed',
        payload: '{"type":"session.killed","id":"1"}',
        now: now - MINUTE,
      })
    for (const delivery of yield* webhooks.deliveriesOf(eventId)) {
      const tried = { at: now - 2 * SECOND, ms: 71, status: 500, body: 'No <room>' } as const
      const next = { state: 'pending', dueAt: now + 3 * MINUTE } as const
      if (delivery.endpointId === fails.id) yield* webhooks.record(delivery, tried, next)
      const done = { at: now - 3 * SECOND, ms: 17, error: 'timed_out' } as const
      const none = { state: 'delivered', dueAt: null } as const
      if (delivery.endpointId === works.id) yield* webhooks.record(delivery, done, none)
    }
  })
  const named = namer(known)
  return {
    h,
    ids: {
      shop: shop.tenant.id,
      north: north.tenant.id,
      completed: completed.id as SessionId,
      bonded: bonded.id,
      declined: declined.id,
      killed: killed.id,
      waiting: waiting.id,
      ann,
      bob,
      cy,
      second,
      reference,
      event: eventId,
      endpoint: fails.id,
      publishable: shop.publishable,
      batch: issued.key,
    },
    named,
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  }
}
