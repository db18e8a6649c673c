import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../core/src/ports/store.ts'
import { CLAIM_MS, LEASE_MS } from '../../core/src/domain/webhooks.ts'
import {
  listEndpoints,
  testEndpoint,
  updateEndpoint,
} from '../../core/src/operations/admin/webhooks.ts'
import { WebhookLane } from '../../core/src/operations/webhook/webhook-lane.ts'
import type { WebhookEndpoint } from '../../core/src/ports/tables/webhook-table.ts'
import type { Harness } from '../../../tests/harness/harness.ts'
import { allEnded, logOf, type Receiver, scene, until } from './webhook-scene.ts'

/** The lane of a node with so many places. */
function send({ service }: Pick<Harness, 'service'>, endpoint: WebhookEndpoint, free = 1_024) {
  const { signal } = new AbortController()
  // Bounded, so that a sender that claims the same delivery forever ends.
  let claims = 20
  const lanes = { free, signal, mayClaim: () => --claims > 0 }
  return new WebhookLane(service, endpoint, lanes).run()
}

/** A service whose units are counted. */
function counted({ service }: Harness) {
  const count = { units: 0 }
  const store: Store = Object.assign(Object.create(service.store) as Store, {
    write(unit: Parameters<Store['write']>[0]) {
      count.units++
      return service.store.write(unit)
    },
  })
  return { count, service: { ...service, store } }
}

test('of senders that work at once, one has the endpoint until nothing is due', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  const sent = await Promise.all(
    Array.from({ length: 20 }, () => testEndpoint(h.service, endpoint.id)),
  )
  const nodes = Array.from({ length: 3 }, () => counted(h))
  await Promise.all(nodes.map((node) => send(node, endpoint)))
  assert.deepEqual(receiver.ids().toSorted(), sent.toSorted())
  // The claim, and the results with the end of the lease. The others find it taken.
  assert.deepEqual(
    nodes.map(({ count }) => count.units).toSorted((a, b) => a - b),
    [1, 1, 2],
  )
  const [{ leasedUntil } = { leasedUntil: -1 }] = await listEndpoints(h.service, h.shop.tenant.id)
  assert.equal(leasedUntil, 0)
})

test('the lease of a sender that died ends', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  await testEndpoint(h.service, endpoint.id)
  await testEndpoint(h.service, endpoint.id)
  const now = h.clock.now()
  const claim = { now, limit: 1, until: now + CLAIM_MS, held: 0, leasedUntil: now + LEASE_MS }
  await h.service.store.write((tables) => tables.webhooks.claim(endpoint.id, claim))
  await send(h, endpoint)
  assert.equal(receiver.received.length, 0)
  // Both can come in one round.
  await until(h, () => receiver.received.length > 0)
  assert.ok(h.clock.now() >= now + LEASE_MS)
})

test('one unit stores the results of a round and claims the next one', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  for (let sent = 0; sent < 96; sent++) await testEndpoint(h.service, endpoint.id)
  const { count, service } = counted(h)
  await send({ service }, endpoint)
  assert.equal(receiver.received.length, 96)
  // The first claim, and one for each round.
  assert.equal(count.units, 4)
})

test('a unit that fails gives the places of its claim back', async () => {
  await using s = await scene()
  const { service } = s.h
  const { endpoint } = await s.add()
  await testEndpoint(service, endpoint.id)
  const lanes = { free: 8, signal: new AbortController().signal, mayClaim: () => true }
  const store: Store = Object.assign(Object.create(service.store) as Store, {
    write: () => Promise.reject(new Error('the database is gone')),
  })
  for (let round = 0; round < 3; round++)
    await assert.rejects(new WebhookLane({ ...service, store }, endpoint, lanes).run(), /is gone/)
  assert.equal(lanes.free, 8)
  await new WebhookLane(service, endpoint, lanes).run()
  assert.equal(s.receiver.received.length, 1)
  assert.equal(lanes.free, 8)
})

test('410 of an old URL, answered after the URL was changed, does not disable the endpoint', async () => {
  await using s = await scene({ receivers: 2 })
  const { h, all } = s
  const [old, current] = all as [Receiver, Receiver]
  let answer = () => {}
  old.behavior.now = (response) => {
    answer = () => response.writeHead(410).end()
  }
  const { endpoint } = await s.add()
  await h.create()
  await until(h, () => old.received.length === 1)
  await updateEndpoint(h.service, endpoint.id, { url: current.url })
  answer()
  await until(h, allEnded(h))
  assert.deepEqual(current.ids(), old.ids())
  const [found] = await listEndpoints(h.service, h.shop.tenant.id)
  assert.deepEqual([found?.disabledReason, found?.failures], [null, 0])
})

test('a result counts only while its claim lasts', async () => {
  await using s = await scene()
  const { h } = s
  const { endpoint } = await s.add()
  await testEndpoint(h.service, endpoint.id)
  const { store } = h.service
  const claimAt = async (now: number) => {
    const claim = { now, limit: 1, until: now + CLAIM_MS, held: 0, leasedUntil: now }
    const found = await store.write((tables) => tables.webhooks.claim(endpoint.id, claim))
    return found?.claimed[0]
  }
  const now = h.clock.now()
  const ended = await claimAt(now)
  const current = await claimAt(now + CLAIM_MS)
  assert.ok(ended && current)
  const attempt = { status: 500, body: '', at: now, ms: 1 }
  const verdict = { state: 'failed', dueAt: null } as const
  await store.write((tables) => tables.webhooks.record(ended, attempt, verdict))
  assert.equal((await logOf(h))[0]?.attempts, 0)
  await store.write((tables) => tables.webhooks.record(current, attempt, verdict))
  assert.equal((await logOf(h))[0]?.state, 'failed')
})

test('a disabled endpoint gets nothing, also from a sender that has found it before', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  await testEndpoint(h.service, endpoint.id)
  await updateEndpoint(h.service, endpoint.id, { enabled: false })
  await send(h, endpoint)
  assert.equal(receiver.received.length, 0)
})
