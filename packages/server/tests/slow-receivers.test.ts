import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeId } from '@bonded/contract'
import { listEndpoints, testEndpoint } from '../../core/src/operations/admin/webhooks.ts'
import { ATTEMPT_TIMEOUT_MS } from '../../core/src/domain/webhooks.ts'
import { allEnded, logOf, type Receiver, scene, until } from './webhook-scene.ts'

test('a receiver that hangs is left after 15 seconds, and delays no other tenant', async () => {
  await using s = await scene({ receivers: 2 })
  const { h, all } = s
  const other = await h.addTenant({ name: 'Other' })
  const [hanging, healthy] = all as [Receiver, Receiver]
  hanging.behavior.now = () => {}
  await s.add()
  await s.add({ url: healthy.url, to: other })
  for (let count = 0; count < 40; count++) await h.create()
  await until(h, () => hanging.received.length > 0)
  const before = h.clock.now()
  await h.create(undefined, other)
  await until(h, allEnded(h, other))
  assert.equal(healthy.received.length, 1)
  assert.ok(h.clock.now() - before < ATTEMPT_TIMEOUT_MS, 'while the other one still hangs')
  assert.ok(hanging.received.length <= 32, 'at most 32 at once')
  await until(h, async () => (await logOf(h)).some(({ attempts }) => attempts === 1))
  const tried = (await logOf(h)).filter(({ attempts }) => attempts === 1)
  for (const { history } of tried)
    assert.equal(history[0] && 'error' in history[0] && history[0].error, 'timed_out')
})

test('a request that hangs costs its own place only', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  const { now: accepts } = receiver.behavior
  receiver.behavior.now = () => {
    receiver.behavior.now = accepts
  }
  const before = h.clock.now()
  for (let sent = 0; sent < 100; sent++) await testEndpoint(h.service, endpoint.id)
  const delivered = async () =>
    (await logOf(h)).filter(({ state }) => state === 'delivered').length === 99
  await until(h, delivered)
  const [hanging] = (await logOf(h)).filter(({ state }) => state === 'pending')
  assert.equal(hanging?.attempts, 0, 'the first request has not ended yet')
  assert.ok(h.clock.now() - before < ATTEMPT_TIMEOUT_MS)
})

test('failures of requests that began before a success do not stop the endpoint', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  const { now: accepts } = receiver.behavior
  receiver.behavior.now = () => {}
  for (let sent = 0; sent < 8; sent++) await testEndpoint(h.service, endpoint.id)
  await until(h, () => receiver.received.length === 8)
  receiver.behavior.now = accepts
  await testEndpoint(h.service, endpoint.id)
  await until(h, async () => (await logOf(h)).some(({ state }) => state === 'delivered'))
  await until(h, async () => (await logOf(h)).filter(({ attempts }) => attempts > 0).length === 9)
  const [found] = await listEndpoints(h.service, h.shop.tenant.id)
  assert.equal(found?.failures, 0)
})

test('40 endpoints that hang, ten of each tenant, delay no other one', async () => {
  await using s = await scene({ receivers: 2 })
  const { h, all } = s
  const [hanging, healthy] = all as [Receiver, Receiver]
  hanging.behavior.now = () => {}
  const tenants = [h.shop]
  while (tenants.length < 4) tenants.push(await h.addTenant({ name: `Slow ${tenants.length}` }))
  const before = h.clock.now()
  for (const keys of tenants)
    for (let count = 0; count < 10; count++) {
      const { endpoint } = await s.add({ to: keys })
      await h.service.store.write(function* ({ webhooks }) {
        for (let sent = 0; sent < 40; sent++) {
          const eventId = makeId('evt', h.service.random.id())
          const event = { eventId, type: 'webhook.test', payload: '{}', now: before } as const
          yield* webhooks.add({ endpoint, ...event })
        }
      })
    }
  await until(h, () => hanging.received.length > 400)
  const other = await h.addTenant({ name: 'Other' })
  await s.add({ url: healthy.url, to: other })
  await h.create(undefined, other)
  await until(h, allEnded(h, other))
  assert.equal(healthy.received.length, 1)
  assert.ok(h.clock.now() - before < ATTEMPT_TIMEOUT_MS, 'no request that hangs has ended')
})

test('two endpoints of a tenant that hang and a dead one do not delay its fourth one', async () => {
  await using s = await scene({ receivers: 4 })
  const { h, all } = s
  const [hanging, other, dead, healthy] = all as [Receiver, Receiver, Receiver, Receiver]
  hanging.behavior.now = other.behavior.now = () => {}
  dead.behavior.now = (_, socket) => socket.destroy()
  for (const { url } of all) await s.add({ url })
  const before = h.clock.now()
  for (let count = 0; count < 40; count++) await h.create()
  await until(h, () => healthy.received.length === 40)
  assert.ok(h.clock.now() - before < ATTEMPT_TIMEOUT_MS)
})
