import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RequestId, Secret } from '@bonded/contract'
import { verifyWebhook } from '../../integrator/src/webhook/verify-webhook.ts'
import { LEASE_MS } from '../../core/src/domain/webhooks.ts'
import { reportWebhooks } from '../../core/src/operations/admin/report-webhooks.ts'
import {
  createEndpoint,
  listEndpoints,
  rotateEndpoint,
  testEndpoint,
  updateEndpoint,
} from '../../core/src/operations/admin/webhooks.ts'
import { recordAction } from '../../core/src/operations/audit/audit.ts'
import { sendAudit } from '../../core/src/operations/audit/send-audit.ts'
import type { Store } from '../../core/src/ports/store.ts'
import type { WebhookEndpoint } from '../../core/src/ports/tables/webhook-table.ts'
import type { Harness } from '../../../tests/harness/harness.ts'
import { prometheusMeter } from '../src/adapters/meter/prometheus-meter.ts'
import { accepts, fails } from './webhook-receiver.ts'
import { scene, until } from './webhook-scene.ts'

type Scene = Awaited<ReturnType<typeof scene>>

const REQUEST = 'req_0000000000000000000000' as RequestId

async function record({ service }: Harness, count: number): Promise<void> {
  const actor = { kind: 'operator', name: 'alice' } as const
  for (let index = 0; index < count; index++)
    await recordAction(service, { action: 'session list', actor, requestId: REQUEST, target: {} })
}

const create = ({ h, receiver }: Scene, scheme: 'v1' | 'v1a' = 'v1') =>
  createEndpoint(h.service, { tenantId: 'operator', url: receiver.url, events: null, scheme })

/** The numbers of the entries, by call. */
const numbersOf = ({ receiver }: Scene) =>
  receiver.received
    .map(({ body }) => JSON.parse(body) as unknown)
    .filter((body) => Array.isArray(body))
    .map((events: readonly { metadata: { sequence: number } }[]) =>
      events.map(({ metadata }) => metadata.sequence),
    )

const positionOf = async ({ service }: Harness) =>
  (await listEndpoints(service, 'operator'))[0]?.auditPosition

/** What one node does at each poll. */
function send({ service }: Pick<Harness, 'service'>, endpoint: WebhookEndpoint) {
  return sendAudit(service, endpoint, { signal: new AbortController().signal, version: '1.2.3' })
}

test('sends the audit log to the endpoint of the operator, in its order, signed', async () => {
  await using s = await scene()
  const { h, receiver } = s
  await record(h, 3)
  const { verifier } = await create(s, 'v1a')
  await until(h, () => numbersOf(s).flat().length === 3)
  await record(h, 2)
  await until(h, () => numbersOf(s).flat().length === 5)
  assert.deepEqual(numbersOf(s), [
    [1, 2, 3],
    [4, 5],
  ])
  assert.equal(receiver.received[0]?.headers['webhook-id'], 'audit_1_3')
  for (const { headers, body } of receiver.received) {
    const verdict = await verifyWebhook({
      headers,
      body,
      secret: new Secret(verifier),
      clock: h.clock,
    })
    assert.equal(verdict.decision, 'accept')
  }
  await until(h, async () => (await positionOf(h)) === 5)
})

test('repeats what the endpoint has not accepted, and never skips it', async () => {
  await using s = await scene()
  const { h, receiver } = s
  await record(h, 1)
  receiver.behavior.now = fails
  const { endpoint } = await create(s)
  await send(h, endpoint)
  assert.equal(await positionOf(h), 0)
  await until(h, () => numbersOf(s).length === 2)
  receiver.behavior.now = accepts
  await record(h, 1)
  await until(h, async () => (await positionOf(h)) === 2)
  assert.deepEqual(numbersOf(s), [[1], [1], [1, 2]])
})

test('of nodes that send at once, one sends', async () => {
  await using s = await scene()
  const { h } = s
  await record(h, 1)
  const { endpoint } = await create(s)
  await Promise.all([send(h, endpoint), send(h, endpoint), send(h, endpoint)])
  // One that has found the endpoint before, and leases it afterwards, has nothing to send.
  await send(h, endpoint)
  assert.deepEqual(numbersOf(s), [[1]])
})

test('a node that died after its call leaves the entries to another one, once its lease has ended', async () => {
  await using s = await scene()
  const { h } = s
  await record(h, 1)
  const { endpoint } = await create(s)
  const now = h.clock.now()
  let writes = 0
  const store: Store = Object.assign(Object.create(h.service.store) as Store, {
    read: (unit: Parameters<Store['read']>[0]) => h.service.store.read(unit),
    write: (unit: Parameters<Store['write']>[0]) =>
      ++writes === 1 ? h.service.store.write(unit) : Promise.reject(new Error('died')),
  })
  await assert.rejects(send({ service: { ...h.service, store } }, endpoint), /died/)
  await send(h, endpoint)
  assert.deepEqual(numbersOf(s), [[1]])
  await until(h, async () => (await positionOf(h)) === 1)
  assert.ok(h.clock.now() >= now + LEASE_MS)
  assert.deepEqual(numbersOf(s), [[1], [1]])
  // The result of the first node arrives late, and moves nothing.
  const late = { position: 0, held: now + LEASE_MS }
  await h.service.store.write(({ webhooks }) => webhooks.releaseAudit(endpoint.id, late))
  assert.equal(await positionOf(h), 1)
})

test('a call has a bounded size, and at least one entry', async () => {
  await using s = await scene()
  const { h } = s
  const actor = { kind: 'operator', name: 'a'.repeat(200_000) } as const
  const action = { action: 'apply', actor, requestId: REQUEST, target: {} }
  for (let index = 0; index < 3; index++) await recordAction(h.service, action)
  await recordAction(h.service, { ...action, actor: { ...actor, name: 'b'.repeat(600_000) } })
  await record(h, 1)
  await create(s)
  await until(h, async () => (await positionOf(h)) === 5)
  assert.deepEqual(numbersOf(s), [[1, 2], [3], [4], [5]])
})

test('a disabled endpoint gets nothing, and continues at its position', async () => {
  await using s = await scene()
  const { h, receiver } = s
  await record(h, 1)
  const { endpoint } = await create(s)
  await until(h, async () => (await positionOf(h)) === 1)
  await updateEndpoint(h.service, endpoint.id, { enabled: false })
  await record(h, 1)
  await send(h, endpoint)
  assert.deepEqual(numbersOf(s), [[1]])
  await updateEndpoint(h.service, endpoint.id, { enabled: true })
  await rotateEndpoint(h.service, endpoint.id)
  await until(h, async () => (await positionOf(h)) === 2)
  assert.deepEqual(numbersOf(s), [[1], [2]])
  assert.equal(receiver.received[1]?.headers['webhook-signature']?.toString().split(' ').length, 2)
})

test('its test event does not delay the audit log', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await create(s)
  const id = await testEndpoint(h.service, endpoint.id)
  await record(h, 1)
  await until(h, () => receiver.received.length === 2)
  assert.deepEqual(numbersOf(s), [[1]])
  assert.ok(receiver.received.some(({ event }) => event.id === id))
})

test('a tenant neither sees nor changes an endpoint of the operator', async () => {
  await using s = await scene()
  const { h } = s
  const { endpoint } = await create(s)
  const token = h.shop.server
  const list = await h.api('GET', '/webhook-endpoints', { token })
  assert.deepEqual([list.status, list.body.endpoints], [200, []])
  const deleted = await h.api('DELETE', `/webhook-endpoints/${endpoint.id}`, { token })
  assert.equal(deleted.status, 404)
})

test('reports how late the audit log is, also at an endpoint that is gone', async () => {
  using meter = prometheusMeter({ version: '0.0.0' })
  await using s = await scene({ meter })
  const { h, receiver } = s
  const { endpoint } = await create(s)
  await record(h, 1)
  receiver.behavior.now = (response) => response.writeHead(410).end()
  const late = async () =>
    Number(/^bonded_audit_oldest_undelivered_seconds (\S+)$/m.exec(await meter.read())?.[1])
  const isWarned = async () =>
    (await reportWebhooks(h.service)).warnings.some((text) => text.includes('an audit entry of'))
  assert.equal(await isWarned(), false)
  await until(
    h,
    async () => (await listEndpoints(h.service, 'operator'))[0]?.disabledReason === 'gone',
  )
  h.clock.advance(6 * 60_000)
  await until(h, async () => (await late()) > 300)
  assert.equal(await isWarned(), true)
  await updateEndpoint(h.service, endpoint.id, { enabled: false })
  await updateEndpoint(h.service, endpoint.id, { enabled: true })
  receiver.behavior.now = accepts
  await until(h, async () => (await late()) === 0)
  assert.equal(await isWarned(), false)
})
