import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '@bonded/contract'
import { verifyWebhook } from '../../../integrator/src/webhook/verify-webhook.ts'
import { createEndpoint } from '../../../core/src/operations/admin/webhooks.ts'
import { USUAL_LIMITS } from '../../../core/src/domain/limits.ts'
import { MAX_ENDPOINTS } from '../../../core/src/domain/webhooks.ts'
import { type Harness, harness, type TenantKeys } from '../../../../tests/harness/harness.ts'
import { allEnded, attempted, scene, until } from '../webhook-scene.ts'

const PUBLIC_URL = 'https://hooks.example/bonded'
const calls = (h: Harness, { server: token }: TenantKeys = h.shop) => ({
  list: () => h.api('GET', '/webhook-endpoints', { token }),
  create: (body: object) => h.api('POST', '/webhook-endpoints', { token, body }),
  change: (id: string, body?: object) =>
    h.api('POST', `/webhook-endpoints/${id}`, { token, ...(body && { body }) }),
  deliveries: (query = '') => h.api('GET', `/webhook-deliveries${query}`, { token }),
  event: (id: string) => h.api('GET', `/webhook-deliveries/${id}`, { token }),
  retry: (id: string) => h.api('POST', `/webhook-deliveries/${id}/retry`, { token }),
})

test('a backend creates, changes, rotates, and deletes its endpoints; a secret is shown once', async () => {
  await using h = await harness()
  const api = calls(h)
  const created = await api.create({ url: PUBLIC_URL, events: ['session.killed'] })
  assert.equal(created.status, 201)
  const { endpoint_id: id, secret } = created.body
  assert.match(secret, /^whsec_/)
  const listed = await api.list()
  assert.deepEqual(listed.body.endpoints[0].events, ['session.killed'])
  assert.doesNotMatch(listed.text, /whs|whpk|secret"/)

  const changed = await api.change(id, { events: null, enabled: false })
  assert.deepEqual(
    [changed.body.events, changed.body.enabled, changed.body.disabled_reason],
    [null, false, 'tenant'],
  )
  assert.equal((await api.change(id, { enabled: true })).body.enabled, true)
  assert.equal((await api.change(id)).body.url, PUBLIC_URL)
  const rotated = await h.api('POST', `/webhook-endpoints/${id}/secret`, { token: h.shop.server })
  assert.equal(rotated.status, 201)
  assert.notEqual(rotated.body.secret, secret)
  assert.ok(Date.parse(rotated.body.previous_secret_until) > h.clock.now())

  const asymmetric = await api.create({ url: PUBLIC_URL, scheme: 'v1a' })
  assert.equal(asymmetric.body.secret, null)
  assert.match(asymmetric.body.public_key, /^whpk_/)
  for (const { endpoint_id } of (await api.list()).body.endpoints) {
    const path = `/webhook-endpoints/${endpoint_id}`
    assert.equal((await h.api('DELETE', path, { token: h.shop.server })).status, 204)
  }
  assert.deepEqual((await api.list()).body.endpoints, [])
})

test('a backend reaches public hosts only, also those that the operator allows for itself', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const api = calls(h)
  const own = (await api.create({ url: PUBLIC_URL })).body.endpoint_id
  const { endpoint } = await s.add()
  for (const url of [
    receiver.url,
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://hooks.example:8443/',
    'http://hooks.example/',
    'https://user@hooks.example/',
    'hooks',
  ])
    for (const reply of [
      await api.create({ url }),
      await api.change(own, { url }),
      await api.change(endpoint.id, { url }),
    ])
      assert.deepEqual(
        [reply.status, reply.body.error?.reason, reply.body.error?.param],
        [400, 'webhook_url_invalid', 'url'],
        url,
      )
  // The operator's own endpoint stays usable: its tenant may change all but the URL.
  assert.equal((await api.change(endpoint.id, { events: ['session.killed'] })).status, 200)
})

test('a tenant has ten endpoints at most, also when it creates them at once', async () => {
  await using h = await harness()
  const api = calls(h)
  const replies = await Promise.all(
    Array.from({ length: MAX_ENDPOINTS + 3 }, () => api.create({ url: PUBLIC_URL })),
  )
  const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b)
  assert.deepEqual(statuses, [...Array(MAX_ENDPOINTS).fill(201), 400, 400, 400])
  assert.equal((await api.list()).body.endpoints.length, MAX_ENDPOINTS)
})

test('a failed delivery shows its attempts, without credentials, and is sent again', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const api = calls(h)
  receiver.behavior.now = (response) =>
    response.writeHead(500).end('{"error":"bad key","api_key":"hunter2"}')
  const { endpoint } = await s.add()
  const path = `/webhook-endpoints/${endpoint.id}`
  const sent = await h.api('POST', `${path}/test`, { token: h.shop.server })
  const { event_id } = sent.body
  await until(h, attempted(h, 1))
  const [delivery] = (await api.event(event_id)).body.deliveries
  assert.equal(JSON.parse(delivery.payload).id, event_id)
  assert.deepEqual(
    delivery.log.map(({ status, body }: { status: number; body: string }) => [status, body]),
    [[500, '{"error":"bad key","api_key":[redacted]}']],
  )
  receiver.behavior.now = (response) => response.writeHead(204).end()
  assert.deepEqual((await api.retry(event_id)).body, { deliveries: 1 })
  await until(h, allEnded(h))
  assert.equal((await api.deliveries()).body.deliveries[0].state, 'delivered')

  await h.api('POST', path, { token: h.shop.server, body: { enabled: false } })
  await h.create()
  await h.api('POST', path, { token: h.shop.server, body: { enabled: true } })
  const since = new Date(h.clock.now() - 60_000).toISOString()
  const recovered = { token: h.shop.server, body: { since } }
  assert.deepEqual((await h.api('POST', `${path}/recovery`, recovered)).body, { deliveries: 1 })
})

test('the log keeps 80 characters of a response, and more or none where a backend asks', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const api = calls(h)
  const response = `${'no such order. '.repeat(20)} api_key: hunter2`
  receiver.behavior.now = (reply) => reply.writeHead(500).end(response)
  const { endpoint } = await s.add()
  const listed = async () => (await api.list()).body.endpoints[0].logged_characters
  const logged = async () => {
    const sent = await h.api('POST', `/webhook-endpoints/${endpoint.id}/test`, {
      token: h.shop.server,
    })
    const { event_id } = sent.body
    const read = async () => (await api.event(event_id)).body.deliveries[0].log[0]
    await until(h, async () => (await read()) !== undefined)
    return (await read()).body
  }
  assert.equal(await listed(), 80)
  assert.equal(await logged(), response.slice(0, 80))
  const changed = await api.change(endpoint.id, { logged_characters: 1_024 })
  assert.equal(changed.body.logged_characters, 1_024)
  assert.equal(await logged(), response.replace('hunter2', '[redacted]'))
  await api.change(endpoint.id, { logged_characters: 0 })
  assert.equal(await logged(), '')
  await api.change(endpoint.id, { events: null })
  assert.equal(await listed(), 0)

  const created = await api.create({ url: PUBLIC_URL, logged_characters: 200 })
  assert.equal(created.body.logged_characters, 200)
  for (const logged_characters of [-1, 1_025, 1.5, '80', null])
    for (const reply of [
      await api.create({ url: PUBLIC_URL, logged_characters }),
      await api.change(endpoint.id, { logged_characters }),
    ])
      assert.deepEqual([reply.status, reply.body.error.param], [400, 'logged_characters'])
})

test('lists deliveries by pages and filters, without a gap and without those of other tenants', async () => {
  await using s = await scene({ receivers: 2 })
  const { h, all } = s
  const other = await h.addTenant({ name: 'Other' })
  const { endpoint: first } = await s.add()
  const { endpoint: second } = await s.add({ url: all[1]?.url ?? '' })
  await s.add({ to: other })
  for (let count = 0; count < 3; count++) {
    await h.create()
    await h.create(undefined, other)
  }
  const ids = async (query: string, api = calls(h)) => {
    const found: string[] = []
    let before = ''
    do {
      const { body } = await api.deliveries(`?limit=2${query}${before}`)
      assert.ok(body.deliveries.length <= 2)
      found.push(
        ...body.deliveries.map(
          (each: { event_id: string; endpoint_id: string }) =>
            `${each.event_id} ${each.endpoint_id}`,
        ),
      )
      assert.ok(found.length <= 6, 'a page repeats another one')
      before = body.next === null ? '' : `&before=${body.next}`
    } while (before !== '')
    return found
  }
  const everything = await ids('')
  assert.equal(new Set(everything).size, 6)
  assert.equal(everything.length, 6)
  assert.equal((await ids(`&endpoint_id=${first.id}`)).length, 3)
  assert.ok((await ids(`&endpoint_id=${second.id}`)).every((id) => id.endsWith(second.id)))
  assert.equal((await ids('&state=pending&type=session.created')).length, 6)
  assert.deepEqual(await ids('&type=session.killed'), [])
  assert.deepEqual(await ids('&state=failed'), [])
  assert.equal((await ids('', calls(h, other))).length, 3)
  const [foreign = ''] = await ids('', calls(h, other))
  const cursor = foreign.replace(' ', '.')
  assert.deepEqual((await calls(h).deliveries(`?before=${cursor}`)).body.deliveries, [])
  for (const query of ['limit=101', 'limit=0', 'state=lost', 'before=1', 'type=x'])
    assert.equal((await calls(h).deliveries(`?${query}`)).body.error.reason, 'invalid_parameter')
})

test('a retry sends the deliveries of its own tenant only', async () => {
  await using s = await scene()
  const { h } = s
  const other = await h.addTenant({ name: 'Other' })
  await s.add()
  await h.create()
  const [{ event_id }] = (await calls(h).deliveries()).body.deliveries
  for (const reply of [
    await calls(h, other).retry(event_id),
    await calls(h, other).event(event_id),
  ])
    assert.deepEqual([reply.status, reply.body.error.reason], [404, 'webhook_event_not_found'])
})

test('each secret that signed keeps signing after a rotation whose response was lost', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint, verifier } = await s.add()
  const path = `/webhook-endpoints/${endpoint.id}`
  for (let count = 0; count < 2; count++)
    await h.api('POST', `${path}/secret`, { token: h.shop.server })
  await h.create()
  await until(h, () => receiver.received.length === 1)
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
  const delivery = { headers: headers as Record<string, string>, body, clock: h.clock }
  const { decision } = await verifyWebhook({ ...delivery, secret: new Secret(verifier) })
  assert.equal(decision, 'accept')
})

test('a credential for some workflows manages no webhooks', async () => {
  await using h = await harness()
  const { server: token } = await h.addKeys(h.shop.tenant, [
    { workflow: 'credit_application', actions: ['submit_application'] },
  ])
  const { endpoint } = await createEndpoint(h.service, {
    tenantId: h.shop.tenant.id,
    url: PUBLIC_URL,
    events: null,
    scheme: 'v1',
  })
  const path = `/webhook-endpoints/${endpoint.id}`
  const event = `/webhook-deliveries/evt_${'0'.repeat(22)}`
  for (const [method, url, body] of [
    ['GET', '/webhook-endpoints'],
    ['POST', '/webhook-endpoints', { url: PUBLIC_URL }],
    ['POST', path, { enabled: false }],
    ['DELETE', path],
    ['POST', `${path}/secret`],
    ['POST', `${path}/test`],
    ['POST', `${path}/recovery`, { since: h.now() }],
    ['GET', '/webhook-deliveries'],
    ['GET', event],
    ['POST', `${event}/retry`],
  ] as const) {
    const reply = await h.api(method, url, { token, ...(body && { body }) })
    assert.deepEqual(
      [reply.status, reply.body.error?.reason],
      [403, 'unscoped_credential_required'],
      `${method} ${url}`,
    )
  }
})

test('a credential changes and sends 60 times a minute, which bounds what it makes the service send', async () => {
  await using s = await scene({ limits: USUAL_LIMITS })
  const { h } = s
  const { endpoint } = await s.add()
  const path = `/webhook-endpoints/${endpoint.id}/test`
  let sent = 0
  let reply = await h.api('POST', path, { token: h.shop.server })
  for (; reply.status === 201 && sent < 100; sent++)
    reply = await h.api('POST', path, { token: h.shop.server })
  assert.deepEqual([sent, reply.body.error?.reason], [60, 'rate_limited'])
})
