import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDPOINTS, type Endpoint } from '@bonded/contract'
import { USUAL_LIMITS } from '../../../../core/src/domain/limits.ts'
import { PORTAL_TTL_MS } from '../../../../core/src/domain/webhooks.ts'
import { createEndpoint } from '../../../../core/src/operations/admin/webhooks.ts'
import {
  type Harness,
  harness,
  PUBLIC_ORIGIN,
  type TenantKeys,
} from '../../../../../tests/harness/harness.ts'

async function openPortal(h: Harness, { server: token }: TenantKeys = h.shop) {
  const { body } = await h.api('POST', '/webhook-portal', { token })
  const url = new URL(body.url)
  return { url, token: url.hash.slice(1), expiresAt: Date.parse(body.expires_at) }
}
const read = (h: Harness, token: string) => h.api('GET', '/webhook-deliveries', { token })

test('serves a document that only the origins of the tenant may frame', async () => {
  await using h = await harness()
  const origins = ['https://a.example', 'https://b.example:8443']
  const framing = await h.addTenant({ origins })
  const none = await h.addTenant({ origins: [] })
  for (const [keys, ancestors] of [
    [framing, origins.join(' ')],
    [none, "'none'"],
  ] as const) {
    const { url } = await openPortal(h, keys)
    assert.equal(url.origin, PUBLIC_ORIGIN)
    const response = await fetch(`http://127.0.0.1:${h.running.port}${url.pathname}`)
    assert.equal(response.status, 200)
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.ok(policy.endsWith(`; frame-ancestors ${ancestors}`), policy)
    assert.match(policy, /^default-src 'none'; script-src 'self'; .*trusted-types 'none'/)
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer')
    assert.doesNotMatch(await response.text(), new RegExp(keys.tenant.id))
  }
})

test('a token admits for ten minutes, and while its credential is valid', async () => {
  await using h = await harness()
  const { token, expiresAt } = await openPortal(h)
  assert.equal(expiresAt, h.clock.now() + PORTAL_TTL_MS)
  h.clock.advance(PORTAL_TTL_MS - 1)
  assert.equal((await read(h, token)).status, 200)
  h.clock.advance(1)
  assert.equal((await read(h, token)).body.error.reason, 'credential_invalid')

  const { token: current } = await openPortal(h)
  const keyId = /^sk_beta_(.{10})/.exec(h.shop.server)?.[1] ?? ''
  await h.service.store.write((tables) => tables.tenants.revoke(keyId, h.clock.now()))
  assert.equal((await read(h, current)).body.error.reason, 'credential_invalid')
})

test('a token with any character changed admits to nothing', async () => {
  await using h = await harness()
  const { token } = await openPortal(h)
  for (let index = 'wpt_'.length; index < token.length; index++) {
    const changed =
      token.slice(0, index) + (token[index] === 'B' ? 'C' : 'B') + token.slice(index + 1)
    assert.equal((await read(h, changed)).body.error.reason, 'credential_invalid', changed)
  }
})

test('a portal can only read, retry, and recover', () => {
  const open = (Object.entries(ENDPOINTS) as [string, Endpoint][])
    .filter(([, { callers }]) => callers.includes('portal'))
    .map(([name]) => name)
  assert.deepEqual(open.toSorted(), [
    'listWebhookDeliveries',
    'listWebhookEndpoints',
    'readWebhookEvent',
    'recoverWebhookEndpoint',
    'retryWebhookEvent',
  ])
})

test('shows no query of an endpoint’s URL, which can be a credential', async () => {
  await using h = await harness()
  const url = 'https://hooks.example/in?key=hunter2'
  const tenantId = h.shop.tenant.id
  await createEndpoint(h.service, { tenantId, url, events: null, scheme: 'v1' })
  const { token } = await openPortal(h)
  const { body } = await h.api('GET', '/webhook-endpoints', { token })
  assert.equal(body.endpoints[0].url, 'https://hooks.example/in?…')
})

test('a portal that uses up its quota leaves that of its backend', async () => {
  await using h = await harness({ limits: USUAL_LIMITS })
  const { token } = await openPortal(h)
  const retry = (by: string) =>
    h.api('POST', `/webhook-deliveries/evt_${'0'.repeat(22)}/retry`, { token: by })
  let reply = await retry(token)
  for (let count = 0; count < 100 && reply.status === 404; count++) reply = await retry(token)
  assert.equal(reply.body.error.reason, 'rate_limited')
  assert.equal((await retry(h.shop.server)).status, 404)
})
