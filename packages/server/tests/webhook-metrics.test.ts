import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportWebhooks } from '../../core/src/operations/admin/report-webhooks.ts'
import { testEndpoint, updateEndpoint } from '../../core/src/operations/admin/webhooks.ts'
import { resultOf } from '../../core/src/operations/webhook/webhook-lane.ts'
import { ATTEMPT_DELAYS_MS, BREAKER_FAILURES } from '../../core/src/domain/webhooks.ts'
import type { WebhookEndpoint } from '../../core/src/ports/tables/webhook-table.ts'
import type { Harness } from '../../../tests/harness/harness.ts'
import { prometheusMeter } from '../src/adapters/meter/prometheus-meter.ts'
import { fails } from './webhook-receiver.ts'
import { allEnded, logOf, scene, until } from './webhook-scene.ts'

const HOUR_MS = 60 * 60_000

test('counts attempts by result, and reports the queue and its oldest delivery', async () => {
  using meter = prometheusMeter({ version: '0.0.0' })
  await using s = await scene({ meter })
  const { h, receiver } = s
  const figure = async (name: string) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await meter.read())?.[1])
  const results = (result: string) => figure(`bonded_webhook_attempts_total{result="${result}"}`)
  const { endpoint } = await s.add()
  await testEndpoint(h.service, endpoint.id)
  await until(h, async () => (await results('delivered')) === 1)
  await until(h, async () => (await figure('bonded_webhooks_waiting')) === 0)
  assert.equal(await figure('bonded_webhook_oldest_due_seconds'), 0)

  receiver.behavior.now = (_, socket) => socket.destroy()
  await testEndpoint(h.service, endpoint.id)
  await until(h, async () => (await results('no_response')) === 1)
  receiver.behavior.now = fails
  await until(h, async () => (await results('rejected')) === 1)
  await openBreaker(h, endpoint)
  await until(h, async () => (await figure('bonded_webhook_breakers_open')) === 1)
  assert.equal(await figure('bonded_webhooks_waiting'), 1)
  const { warnings, endpoints } = await reportWebhooks(h.service)
  assert.equal(endpoints, 1)
  assert.match(warnings.join(), new RegExp(`${endpoint.id} of ${h.shop.tenant.id} has failed`))
})

test('counts what this service could not send apart from what got no response', () => {
  for (const error of ['secret_unavailable', 'service_failed'] as const)
    assert.equal(resultOf({ error }), 'not_sent')
  for (const error of ['timed_out', 'closed_early', 'tls_failed'] as const)
    assert.equal(resultOf({ error }), 'no_response')
  assert.equal(resultOf({ status: 500, body: '' }), 'rejected')
  assert.equal(resultOf({ status: 204, body: '' }), 'delivered')
})

test('counts a delivery whose tenth attempt failed', async () => {
  using meter = prometheusMeter({ version: '0.0.0' })
  await using s = await scene({ meter })
  const { h, receiver } = s
  receiver.behavior.now = fails
  const { endpoint } = await s.add()
  await testEndpoint(h.service, endpoint.id)
  const now = h.clock.now()
  const attempt = { status: 500, body: '', at: now, ms: 1 }
  for (let attempts = 1; attempts < ATTEMPT_DELAYS_MS.length; attempts++)
    await h.service.store.write(function* (tables) {
      const claim = { now, limit: 1, until: now, held: 0, leasedUntil: 0 }
      const found = yield* tables.webhooks.claim(endpoint.id, claim)
      for (const delivery of found?.claimed ?? [])
        yield* tables.webhooks.record(delivery, attempt, { state: 'pending', dueAt: now })
    })
  await until(h, allEnded(h))
  assert.equal((await logOf(h))[0]?.state, 'failed')
  assert.match(await meter.read(), /^bonded_webhooks_given_up_total 1$/m)
})

test('the queue counts neither disabled endpoints nor, as late, paused ones', async () => {
  await using s = await scene()
  const { h } = s
  const figures = () =>
    h.service.store.read((tables) => tables.webhooks.figures(h.clock.now() + HOUR_MS))
  const { endpoint } = await s.add()
  await testEndpoint(h.service, endpoint.id)
  assert.deepEqual(await figures(), {
    waiting: 1,
    oldestDueMs: HOUR_MS,
    openBreakers: 0,
    oldestAuditMs: 0,
  })
  await openBreaker(h, endpoint)
  assert.deepEqual(await figures(), {
    waiting: 1,
    oldestDueMs: 0,
    openBreakers: 1,
    oldestAuditMs: 0,
  })
  await updateEndpoint(h.service, endpoint.id, { enabled: false })
  assert.deepEqual(await figures(), {
    waiting: 0,
    oldestDueMs: 0,
    openBreakers: 0,
    oldestAuditMs: 0,
  })
})

/** Records the failures that pause an endpoint, for two hours. */
function openBreaker(h: Harness, endpoint: WebhookEndpoint): Promise<void> {
  const now = h.clock.now()
  const pausedUntil = now + 2 * HOUR_MS
  const change = { failures: BREAKER_FAILURES, pausedUntil, now, isGone: false }
  return h.service.store.write((tables) => tables.webhooks.recordEndpoint(endpoint, change))
}
