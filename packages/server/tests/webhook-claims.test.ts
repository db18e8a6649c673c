import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../core/src/ports/store.ts'
import { LEASE_MS } from '../../core/src/domain/webhooks.ts'
import {
  listEndpoints,
  testEndpoint,
  updateEndpoint,
} from '../../core/src/operations/admin/webhooks.ts'
import { sendDue } from '../../core/src/operations/send-webhooks.ts'
import { allEnded, logOf, type Receiver, scene, until } from './webhook-scene.ts'

/** Bounded, so that a sender that claims the same delivery forever ends. */
function lane(most: number) {
  let batches = 20
  return { most, signal: new AbortController().signal, mayClaim: () => --batches > 0 }
}

test('of senders that work at once, one gets each delivery', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  const sent = await Promise.all(
    Array.from({ length: 20 }, () => testEndpoint(h.service, endpoint.id)),
  )
  await Promise.all(Array.from({ length: 4 }, () => sendDue(h.service, endpoint.id, lane(2))))
  assert.deepEqual(receiver.ids().toSorted(), sent.toSorted())
})

test('one unit stores the results of a batch and claims the next one', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  for (let count = 0; count < 8; count++) await testEndpoint(h.service, endpoint.id)
  let units = 0
  const store: Store = Object.assign(Object.create(h.service.store) as Store, {
    write(unit: Parameters<Store['write']>[0]) {
      units++
      return h.service.store.write(unit)
    },
  })
  await sendDue({ ...h.service, store }, endpoint.id, lane(4))
  assert.equal(receiver.received.length, 8)
  // The first claim, and one for each batch.
  assert.equal(units, 3)
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
  const claimAt = (now: number) =>
    store.write((tables) =>
      tables.webhooks.claim(endpoint.id, { now, until: now + LEASE_MS, limit: 1 }),
    )
  const now = h.clock.now()
  const [ended] = await claimAt(now)
  const [current] = await claimAt(now + LEASE_MS)
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
  await sendDue(h.service, endpoint.id, lane(1))
  assert.equal(receiver.received.length, 0)
})
