import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { Secret } from '@bonded/contract'
import { verifyWebhook } from '../../integrator/src/webhook/verify-webhook.ts'
import {
  createEndpoint,
  inspectEvent,
  listEndpoints,
  recoverEndpoint,
  removeEndpoint,
  retryEvent,
  rotateEndpoint,
  testEndpoint,
  updateEndpoint,
} from '../../core/src/operations/admin/webhooks.ts'
import { purgeSessions } from '../../core/src/operations/maintenance/purge-sessions.ts'
import { LOG_MS } from '../../core/src/domain/webhooks.ts'
import { harness, ROOT_KEY } from '../../../tests/harness/harness.ts'
import { accepts, type Behavior, fails, webhookReceiver } from './webhook-receiver.ts'
import { allEnded, attempted, logOf, scene, until } from './webhook-scene.ts'

const HOUR_MS = 60 * 60_000

test('a lifecycle sends each of its events once, signed, in the form of the contract', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { verifier } = await s.add()
  const { session } = await h.reach('completed')
  await until(h, allEnded(h))
  const events = receiver.received.map(({ event }) => event).sort((a, b) => a.sequence - b.sequence)
  assert.deepEqual(
    events.map(({ type }) => type),
    ['session.created', 'session.bonded', 'session.completed'],
  )
  assert.deepEqual(new Set(events.map(({ data }) => data.session?.id)), new Set([session.id]))
  for (const { headers, body } of receiver.received) {
    const delivery = { headers: headers as Record<string, string>, body }
    const secret = new Secret(verifier)
    const verdict = await verifyWebhook({ ...delivery, secret, clock: h.clock })
    assert.equal(verdict.decision, 'accept')
    assert.equal(headers['webhook-id'], JSON.parse(body).id)
  }
})

test('every end of a session has its event', async () => {
  await using s = await scene()
  const { h, receiver } = s
  await s.add()
  await h.reach('step_up_required')
  await h.reach('killed')
  const reported = await h.create()
  const phone = await h.register()
  await h.decline(phone, reported, 'user_unexpected')
  await h.create()
  h.clock.advance(300_000)
  const expired = () => receiver.types().filter((type) => type === 'session.expired').length === 2
  await until(h, expired)
  assert.deepEqual(
    new Set(receiver.types()),
    new Set([
      'session.created',
      'session.step_up_required',
      'session.killed',
      'session.reported',
      'session.expired',
    ]),
  )
})

test('a tenant without an endpoint writes nothing', async () => {
  await using s = await scene()
  await s.h.reach('completed')
  assert.deepEqual(await logOf(s.h), [])
})

test('an endpoint receives the events that it chose', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  await updateEndpoint(h.service, endpoint.id, { events: ['session.completed'] })
  await h.reach('completed')
  await until(h, allEnded(h))
  assert.deepEqual(receiver.types(), ['session.completed'])
})

test('a tenant gets the events of its own sessions only', async () => {
  await using s = await scene({ receivers: 2 })
  const { h, all } = s
  const other = await h.addTenant({ name: 'Other' })
  await s.add()
  await s.add({ url: all[1]?.url ?? '', to: other })
  const mine = await h.create()
  const theirs = await h.create(undefined, other)
  await until(h, async () => all.every(({ received }) => received.length === 1))
  assert.equal(all[0]?.received[0]?.event.data.session?.id, mine.id)
  assert.equal(all[1]?.received[0]?.event.data.session?.id, theirs.id)
  const log = await logOf(h, other)
  assert.deepEqual(
    log.map(({ tenantId }) => tenantId),
    [other.tenant.id],
  )
})

const FAILURES: Readonly<Record<string, { behavior: Behavior; result: object }>> = {
  fails: { behavior: fails, result: { status: 500, body: 'broken' } },
  redirects: {
    behavior: (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    result: { status: 302, body: '' },
  },
  floods: {
    behavior: (response) => {
      const flood = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', flood).writeHead(500)
      flood()
    },
    result: { status: 500, body: 'x'.repeat(80) },
  },
  'sends endless headers': {
    behavior: (_, socket) => {
      const flood = () => {
        while (!socket.destroyed && socket.write(`x: ${'x'.repeat(65_536)}\r\n`));
      }
      socket.on('drain', flood).on('error', () => {})
      socket.write('HTTP/1.1 200 OK\r\n')
      flood()
    },
    result: { error: 'closed_early' },
  },
  'closes early': {
    behavior: (_, socket) => socket.destroy(),
    result: { error: 'closed_early' },
  },
}
for (const [name, { behavior, result }] of Object.entries(FAILURES))
  test(`a receiver that ${name} gets the same event again`, async () => {
    await using s = await scene()
    const { h, receiver } = s
    receiver.behavior.now = behavior
    await s.add()
    await h.create()
    await until(h, attempted(h, 1))
    const [failed] = await logOf(h)
    assert.equal(failed?.state, 'pending')
    const { at, ms, ...logged } = failed?.history[0] ?? { at: 0, ms: 0 }
    assert.deepEqual(logged, result)
    assert.ok(at > 0 && ms >= 0)
    receiver.behavior.now = accepts
    await until(h, allEnded(h))
    assert.equal(new Set(receiver.ids()).size, 1)
    assert.equal((await logOf(h))[0]?.state, 'delivered')
  })

test('Retry-After of 429 delays the next attempt', async () => {
  await using s = await scene()
  const { h, receiver } = s
  receiver.behavior.now = (response) => response.writeHead(429, { 'retry-after': '3600' }).end()
  await s.add()
  await h.create()
  await until(h, attempted(h, 1))
  const [delivery] = await logOf(h)
  assert.ok((delivery?.dueAt ?? 0) >= h.clock.now() + HOUR_MS - 60_000)
  assert.equal(receiver.received.length, 1)
})

test('410 disables the endpoint; recover sends what was held since', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const since = h.clock.now()
  receiver.behavior.now = (response) => response.writeHead(410).end()
  const { endpoint } = await s.add()
  await h.create()
  await until(h, attempted(h, 1))
  await until(h, async () => {
    const [found] = await listEndpoints(h.service, h.shop.tenant.id)
    return found?.disabledReason === 'gone'
  })
  receiver.behavior.now = accepts
  await h.create()
  assert.deepEqual(
    (await logOf(h)).map(({ state }) => state),
    ['held', 'held'],
  )
  await updateEndpoint(h.service, endpoint.id, { enabled: true })
  assert.equal(await recoverEndpoint(h.service, endpoint.id, since), 2)
  await until(h, allEnded(h))
  assert.equal(receiver.received.length, 3)
  assert.equal(new Set(receiver.ids()).size, 2)
})

test('an endpoint that fails for 75 hours ends its deliveries; a retry sends again', async () => {
  await using s = await scene()
  const { h, receiver } = s
  receiver.behavior.now = fails
  const { endpoint } = await s.add()
  const eventId = await testEndpoint(h.service, endpoint.id)
  for (let attempt = 1; attempt <= 10; attempt++) {
    await until(h, attempted(h, attempt))
    h.clock.advance(26 * HOUR_MS)
    await turn()
  }
  const [failed] = await inspectEvent(h.service, eventId)
  assert.equal(failed?.state, 'failed')
  assert.equal(failed?.history.length, 10)
  assert.equal(receiver.received.length, 10)
  receiver.behavior.now = accepts
  await retryEvent(h.service, eventId, endpoint.id)
  await until(h, allEnded(h))
  assert.equal(new Set(receiver.ids()).size, 1)
})

test('during a rotation both secrets sign, for 24 hours', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  await rotateEndpoint(h.service, endpoint.id)
  const signatures = async () => {
    await testEndpoint(h.service, endpoint.id)
    const before = receiver.received.length
    await until(h, () => receiver.received.length > before)
    return String(receiver.received.at(-1)?.headers['webhook-signature']).split(' ').length
  }
  assert.equal(await signatures(), 2)
  h.clock.advance(24 * HOUR_MS)
  assert.equal(await signatures(), 1)
})

test('a secret that is replaced while deliveries are sent signs those that begin afterwards', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  const waiting: (() => void)[] = []
  receiver.behavior.now = (response, socket) => waiting.push(() => accepts(response, socket))
  await testEndpoint(h.service, endpoint.id)
  await until(h, () => receiver.received.length === 1)
  const { verifier } = await rotateEndpoint(h.service, endpoint.id)
  await testEndpoint(h.service, endpoint.id)
  // The first request is open, so that the endpoint's sender goes on.
  await until(h, () => receiver.received.length === 2)
  const [before, after] = receiver.received
  const secret = new Secret(verifier)
  for (const [delivery, decision] of [
    [before, 'reject'],
    [after, 'accept'],
  ] as const) {
    assert.ok(delivery)
    const { headers, body } = delivery
    const signed = { headers: headers as Record<string, string>, body }
    assert.equal((await verifyWebhook({ ...signed, secret, clock: h.clock })).decision, decision)
  }
  for (const respond of waiting) respond()
})

test('a changed device is reported to tenants with a bond of its user, by their own reference', async () => {
  await using s = await scene({ receivers: 2 })
  const { h, all } = s
  const stranger = await h.addTenant({ name: 'Stranger' })
  const { session, phone } = await h.reach('bonded')
  const { subject_ref } = (await h.get(session)).body
  await s.add()
  await s.add({ url: all[1]?.url ?? '', to: stranger })
  await h.register(phone)
  await until(h, allEnded(h))
  const [received] = all[0]?.received ?? []
  assert.equal(received?.event.type, 'device.key_added')
  const { device_ref, ...data } = received.event.data
  assert.deepEqual(data, { subject_ref })
  assert.match(device_ref ?? '', /^[\w-]{43}$/)
  assert.deepEqual(await logOf(h, stranger), [])
})

test('the last endpoint of a tenant takes its deliveries along, and later sessions write none', async () => {
  await using s = await scene()
  const { h } = s
  const { endpoint } = await s.add()
  await h.create()
  await removeEndpoint(h.service, endpoint.id)
  await h.create()
  assert.deepEqual(await logOf(h), [])
})

test('secrets move to the active root key at a start, so that the former one can be removed', async () => {
  await using receiver = await webhookReceiver()
  const former = { id: 'k0', bytes: new Uint8Array(32).fill(7) }
  const rootKeys = [former]
  await using h = await harness({ settings: { webhookHosts: [receiver.host] }, rootKeys })
  const { tenant } = h.shop
  const { endpoint, verifier } = await createEndpoint(h.service, {
    tenantId: tenant.id,
    url: receiver.url,
    events: null,
    scheme: 'v1',
  })
  for (const keys of [[ROOT_KEY, former], [ROOT_KEY]]) {
    rootKeys.splice(0, rootKeys.length, ...keys)
    await h.restart()
    await until(h, async () => {
      const [found] = await listEndpoints(h.service, tenant.id)
      return found?.sealedSecrets.startsWith(`${ROOT_KEY.id}:`) === true
    })
  }
  await testEndpoint(h.service, endpoint.id)
  await until(h, allEnded(h))
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
  const delivery = { headers: headers as Record<string, string>, body }
  const secret = new Secret(verifier)
  const { decision } = await verifyWebhook({ ...delivery, secret, clock: h.clock })
  assert.equal(decision, 'accept')
})

test('the log keeps a delivery for 30 days', async () => {
  await using s = await scene()
  const { h } = s
  const { endpoint } = await s.add()
  await testEndpoint(h.service, endpoint.id)
  await until(h, allEnded(h))
  const [{ createdAt } = { createdAt: 0 }] = await logOf(h)
  h.clock.advance(createdAt + LOG_MS - 1 - h.clock.now())
  await purgeSessions(h.service)
  assert.equal((await logOf(h)).length, 1)
  h.clock.advance(1)
  await purgeSessions(h.service)
  assert.deepEqual(await logOf(h), [])
})

test('a status counts although its body never ends', async () => {
  await using s = await scene()
  const { h, receiver } = s
  receiver.behavior.now = (response) => response.writeHead(200).write('endless')
  const { endpoint } = await s.add()
  await testEndpoint(h.service, endpoint.id)
  await until(h, allEnded(h))
  const [delivery] = await logOf(h)
  assert.equal(delivery?.state, 'delivered')
  assert.equal(receiver.received.length, 1)
})
