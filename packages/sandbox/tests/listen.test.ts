import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Secret, systemClock, verifyWebhook } from '@bonded/integrator'
import { harness } from '../../../tests/harness/harness.ts'
import { NO_SCRIPT } from '../../../tests/harness/no-script.ts'
import {
  createEndpoint,
  removeEndpoint,
  testEndpoint,
  updateEndpoint,
} from '../../core/src/operations/admin/webhooks.ts'
import { fails, webhookReceiver } from '../../server/tests/webhook-receiver.ts'
import { type Backend, createBackend } from '../src/backend.ts'
import { type Forwarded, Forwarder } from '../src/listen/forwarder.ts'
import { listeningSecret } from '../src/listen/listening-secret.ts'
import { freePort } from '../../store/tests/servers/free-port.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-listen-'))
const port = await freePort()
const h = await harness({ hosting: { port, script: NO_SCRIPT } })
const receiver = await webhookReceiver()
after(async () => {
  await receiver[Symbol.asyncDispose]()
  await h[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})
const secret = listeningSecret(folder)
const call = createBackend(`http://127.0.0.1:${port}`, h.shop.server)
const open = (forwardTo = receiver.url) =>
  Forwarder.open({ call, forwardTo, secret, clock: systemClock })
const forwarded = async (forwarder: Forwarder): Promise<Forwarded[]> => {
  const events: Forwarded[] = []
  for await (const event of forwarder.forward()) events.push(event)
  return events
}

test('forwards each event once, the oldest first, with a signature that the receiver verifies', async () => {
  const forwarder = await open()
  const session = await h.create()
  h.clock.advance(1)
  await h.kill(session)
  const events = await forwarded(forwarder)
  assert.deepEqual(
    events.map(({ type, status }) => [type, status]),
    [
      ['session.created', 204],
      ['session.killed', 204],
    ],
  )
  assert.deepEqual(receiver.types(), ['session.created', 'session.killed'])
  for (const { headers, body } of receiver.received) {
    const given = { headers: new Headers(headers as Record<string, string>), body }
    assert.equal((await verifyWebhook({ ...given, secret })).decision, 'accept')
    const other = new Secret(`whsec_${Buffer.alloc(32).toString('base64')}`)
    assert.equal((await verifyWebhook({ ...given, secret: other })).decision, 'reject')
  }
  assert.deepEqual(await forwarded(forwarder), [])
})

test('forwards nothing that only another endpoint of the tenant gets', async () => {
  const tenantId = h.shop.tenant.id
  const given = { tenantId, url: 'https://other.example/', events: null, scheme: 'v1' } as const
  const { endpoint } = await createEndpoint(h.service, given)
  const forwarder = await open()
  // It is disabled, so that nothing is sent to it.
  await updateEndpoint(h.service, endpoint.id, { enabled: false })
  await testEndpoint(h.service, endpoint.id)
  assert.deepEqual(await forwarded(forwarder), [])
  await removeEndpoint(h.service, endpoint.id)
})

test('has the same secret and endpoint after a restart, and forwards what happens from then on', async () => {
  await h.create()
  const restarted = await open()
  assert.equal(listeningSecret(folder).reveal(), secret.reveal())
  assert.equal(statSync(join(folder, 'listen.json')).mode & 0o777, 0o600)
  assert.deepEqual(await forwarded(restarted), [])
  const { endpoints } = await call<{ endpoints: { enabled: boolean }[] }>('/webhook-endpoints', {
    method: 'GET',
  })
  assert.deepEqual(
    endpoints.map(({ enabled }) => enabled),
    [false],
  )
})

test('forwards more events than the log returns in one page', async () => {
  const forwarder = await open()
  const created = await Promise.all(Array.from({ length: 101 }, () => h.create()))
  const before = receiver.received.length
  await forwarded(forwarder)
  const sessions = receiver.received.slice(before).map(({ event }) => event.data.session?.id)
  assert.equal(sessions.length, created.length)
  assert.deepEqual(new Set(sessions), new Set(created.map(({ id }) => id)))
})

test('loses no event if the service fails while they are read', async () => {
  let reads = 0
  const failing: Backend = (path, given) => {
    if (path.startsWith('/webhook-deliveries/') && ++reads === 2) throw new Error('gone')
    return call(path, given)
  }
  const clock = systemClock
  const forwarder = await Forwarder.open({ call: failing, forwardTo: receiver.url, secret, clock })
  const created = await Promise.all([h.create(), h.create(), h.create()])
  const before = receiver.received.length
  await assert.rejects(forwarded(forwarder), /gone/)
  await forwarded(forwarder)
  const sessions = receiver.received.slice(before).map(({ event }) => event.data.session?.id)
  assert.equal(sessions.length, created.length)
  assert.deepEqual(new Set(sessions), new Set(created.map(({ id }) => id)))
})

test('goes on after a receiver that fails, or does not answer', async () => {
  const silent = await open(`http://127.0.0.1:${await freePort()}`)
  const forwarder = await open()
  await h.create()
  receiver.behavior.now = fails
  const statuses = async (from: Forwarder) => (await forwarded(from)).map(({ status }) => status)
  assert.deepEqual([await statuses(silent), await statuses(forwarder)], [[null], [500]])
})

test('explains a rejected credential, and a service that does not answer', async () => {
  const stranger = createBackend(`http://127.0.0.1:${port}`, 'sk_beta_0')
  await assert.rejects(stranger('/webhook-endpoints', { method: 'GET' }), /rejected/)
  const nowhere = createBackend(`http://127.0.0.1:${await freePort()}`, 'sk_beta_0')
  await assert.rejects(nowhere('/webhook-endpoints', { method: 'GET' }), /does not answer/)
})
