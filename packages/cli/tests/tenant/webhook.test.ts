import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CREATE_TENANT, machine, until } from '../../../../tests/harness/process.ts'
import { walkGuide } from '../../../../tests/samples/guide.ts'
import { webhookReceiver } from '../../../server/tests/webhook-receiver.ts'

const WITHIN_MS = 60_000

test('a running service sends to an endpoint that the command line creates and changes', async () => {
  await using receiver = await webhookReceiver()
  using m = machine({ env: { BONDED_WEBHOOK_HOSTS: receiver.host } })
  await using serving = await m.serve()
  const { tenant_id } = m.json(...CREATE_TENANT)
  const webhook = (...args: string[]) => m.jsonMeanwhile('webhook', ...args)

  const made = await webhook('create', tenant_id, '--url', receiver.url)
  assert.match(made.secret, /^whsec_/)
  const { endpoint_id } = made
  const listed = await webhook('list', tenant_id)
  assert.ok(!JSON.stringify(listed).includes('whsec_'))
  assert.equal(listed[0].endpoint_id, endpoint_id)

  const { event_id } = await webhook('test', endpoint_id)
  const delivered = (attempts: number) =>
    until(async () => {
      const [delivery] = await webhook('delivery', event_id)
      return delivery.log.length === attempts ? delivery : undefined
    }, WITHIN_MS)
  assert.equal((await delivered(1)).log[0].status, 204)
  assert.deepEqual(receiver.ids(), [event_id])
  assert.equal((await webhook('deliveries', tenant_id))[0].event_id, event_id)

  assert.deepEqual(await webhook('retry', event_id), { deliveries: 1 })
  assert.equal((await delivered(2)).state, 'delivered')
  assert.match((await webhook('rotate', endpoint_id)).secret, /^whsec_/)
  const changed = await webhook('update', endpoint_id, '--event', 'session.killed', '--disable')
  assert.deepEqual(changed.events, ['session.killed'])
  const logging = await webhook('update', endpoint_id, '--logged-characters', '1024')
  assert.deepEqual([changed.logged_characters, logging.logged_characters], [80, 1_024])
  assert.equal(changed.disabled_reason, 'operator')
  assert.deepEqual(await webhook('recover', endpoint_id, '--since', '24h'), { deliveries: 0 })
  await webhook('delete', endpoint_id)
  assert.deepEqual(await webhook('list', tenant_id), [])
  assert.ok(!serving.output().includes('whsec_'))
})

test('a service sends the audit log to the endpoint of its operator, and goes on after a kill', {
  timeout: 120_000,
}, async () => {
  await using receiver = await webhookReceiver()
  using m = machine({ env: { BONDED_WEBHOOK_HOSTS: receiver.host } })
  const { tenant_id } = m.json(...CREATE_TENANT)
  const values = { 'https://siem.example/bonded': receiver.url }
  const guide = { path: 'docs/guides/operate/audit.md', test: import.meta.filename, values }
  const [, ...args] = await walkGuide(guide, async (next) => next()().trim().split(' '))
  assert.match(m.json(...args).public_key, /^whpk_/)
  const accepted = (position: number) =>
    until(async () => {
      const [endpoint] = await m.jsonMeanwhile('webhook', 'list', 'operator')
      return endpoint.audit_position === position || undefined
    }, WITHIN_MS)
  const serving = await m.serve()
  await accepted(2)
  await serving.stop('SIGKILL')
  m.json('tenant', 'update', tenant_id, '--name', 'B')
  await using again = await m.serve()
  await accepted(3)
  assert.equal(again.child.exitCode, null)
  const events = receiver.received.flatMap(({ body }) => JSON.parse(body))
  assert.deepEqual(
    events.map(({ metadata, unmapped }) => [metadata.event_code, unmapped.tenant_id]),
    [
      ['tenant create', tenant_id],
      ['webhook create', null],
      ['tenant update', tenant_id],
    ],
  )
})

test('rejects a URL inside the network, and names the setting that allows one', () => {
  using m = machine()
  const { tenant_id } = m.json(...CREATE_TENANT)
  const { stderr, status } = m.run('webhook', 'create', tenant_id, '--url', 'https://10.0.0.1/')
  assert.equal(status, 1)
  assert.match(stderr, /its address is not public.*BONDED_WEBHOOK_HOSTS/s)
})
