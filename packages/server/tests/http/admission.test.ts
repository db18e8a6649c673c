import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BODY_LIMITS, ENDPOINTS, type Endpoint } from '@bonded/contract'
import { parseLimits, USUAL_LIMITS } from '../../../core/src/domain/limits.ts'
import { parseTrustedProxies } from '../../src/http/connection/client-address.ts'
import { type Harness, harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import { rawClient, rawRequest } from '../../../../tests/harness/raw-http.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const UNKNOWN_SERVER = 'sk_beta_0000000000_'
const UNKNOWN_TOKEN = `dt_${'0'.repeat(10)}_${'0'.repeat(43)}`
const limited = (limits = '') =>
  harness({
    limits: limits === '' ? USUAL_LIMITS : { ...USUAL_LIMITS, ...parseLimits(limits) },
    trustedProxies: parseTrustedProxies('1') ?? 0,
  })
const from = (network: string) => ({ 'x-forwarded-for': network })

/** Sends the head of a request without its body, and returns the response. */
async function headOnly(
  h: Harness,
  line: string,
  headers: Record<string, string | number>,
): Promise<string> {
  using client = await rawClient(h.running.port)
  client.send(rawRequest(line, { ...JSON_TYPE, ...headers }))
  return await client.until('"requestId"')
}

test('rejects a missing, malformed, unknown or wrong kind of credential before the body is sent', async () => {
  await using h = await harness()
  const cases: [string | undefined, string][] = [
    [undefined, 'credential_missing'],
    ['junk', 'credential_invalid'],
    [`${UNKNOWN_SERVER}${'0'.repeat(49)}`, 'credential_invalid'],
    [UNKNOWN_TOKEN, 'credential_invalid'],
    [h.shop.publishable, 'credential_not_accepted'],
  ]
  for (const [token, reason] of cases) {
    const response = await headOnly(h, 'POST /api/v1/attestations', {
      'Content-Length': 5_000,
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    })
    assert.match(response, new RegExp(`^HTTP/1.1 401 [^]*"reason":"${reason}"`), reason)
  }
})

test('rejects a declared length over the endpoint’s limit before the body is sent', async () => {
  await using h = await harness()
  const phone = await h.register()
  for (const [path, limit] of [
    ['/api/v1/attestations', BODY_LIMITS.assertion],
    ['/api/v1/evidence', BODY_LIMITS.evidence],
    ['/api/v1/devices', BODY_LIMITS.registration],
    [`/api/v1/sessions/sess_${'0'.repeat(22)}/claim`, BODY_LIMITS.claim],
  ] as const) {
    const response = await headOnly(h, `POST ${path}`, {
      'Content-Length': limit + 1,
      Authorization: `Bearer ${phone.device_token}`,
    })
    assert.match(response, /^HTTP\/1.1 413 [^]*"reason":"body_too_large"/, path)
  }
})

test('counts a phone’s calls before it reads their bodies', async () => {
  await using h = await limited('device=1')
  const phone = await h.register()
  const headers = { 'Content-Length': 500, Authorization: `Bearer ${phone.device_token}` }
  const send = () => h.api('POST', '/evidence', { token: phone.device_token, raw: '{' })
  assert.equal((await send()).status, 400)
  assert.match(await headOnly(h, 'POST /api/v1/evidence', headers), /^HTTP\/1.1 429 /)
})

test('rejects a credential that is revoked while the request body arrives', async () => {
  await using h = await harness()
  const keys = await h.addKeys(h.shop.tenant, null)
  const body = JSON.stringify({ workflow: 'credit_application' })
  using client = await rawClient(h.running.port)
  client.send(
    rawRequest('POST /api/v1/sessions', {
      ...JSON_TYPE,
      Authorization: `Bearer ${keys.server}`,
      'Content-Length': body.length,
      Expect: '100-continue',
    }),
  )
  await client.until('100 Continue')
  await h.service.store.write((tables) =>
    tables.tenants.revoke(keys.server.slice(8, 18), h.clock.now()),
  )
  client.send(body)
  assert.match(await client.until('"requestId"'), /HTTP\/1.1 401 [^]*"credential_invalid"/)
})

test('sends 100 Continue only before it reads the body, and closes the connection of a request rejected earlier', async () => {
  await using h = await harness()
  using client = await rawClient(h.running.port)
  const expects = { ...JSON_TYPE, 'Content-Length': 20, Expect: '100-continue' }
  client.send(rawRequest('POST /api/v1/attestations', expects))
  const response = await client.closed
  assert.match(response, /^HTTP\/1.1 401 [^]*connection: close/i)
  assert.doesNotMatch(response, /100 Continue/)
})

test('responds with 429 to rejected requests beyond the limit of their network, and serves valid requests from it', async () => {
  await using h = await limited('rejected=3')
  const paths = ['/nothing', '/api/v1/evidence', '/api/v1/sessions/x', '/api/v1/sessions/']
  const statuses: number[] = []
  for (const path of paths)
    statuses.push((await h.call('GET', path, { headers: from('192.0.2.1') })).status)
  assert.deepEqual(statuses, [404, 405, 401, 429])
  const over = await h.call('GET', '/nothing', { headers: from('192.0.2.1') })
  assert.deepEqual(
    [over.status, over.headers.connection, over.headers['retry-after']],
    [429, 'close', '20'],
  )
  assert.equal((await h.call('GET', '/version', { headers: from('192.0.2.1') })).status, 200)
  assert.equal((await h.get(await h.create())).status, 200)
  assert.equal((await h.call('GET', '/nothing', { headers: from('192.0.2.2') })).status, 404)
})

test('counts rejected requests with a publishable key, which every visitor knows, for their network', async () => {
  await using h = await limited('rejected=3')
  const session = await h.create()
  const send = (index: number, { path, body }: { path: string; body?: unknown }) =>
    h.api('POST', `/sessions/${session.id}/${path}`, {
      token: h.shop.publishable,
      headers: {
        origin: SHOP_ORIGIN,
        'x-bond-watch': `bwt_${String(index).padStart(43, '0')}`,
        ...from('192.0.2.1'),
      },
      ...(body === undefined ? {} : { body }),
    })
  const junk = [
    { path: 'containment', body: { verdict: 'junk' } },
    { path: 'cancel', body: { junk: true } },
  ]
  const statuses: number[] = []
  for (let index = 0; index < 5; index++)
    statuses.push((await send(index, junk[index % 2] as (typeof junk)[number])).status)
  assert.deepEqual(statuses, [400, 400, 400, 429, 429])
})

test('counts watch tokens of another form for their network, before the body is read', async () => {
  await using h = await limited('get=3')
  const session = await h.create()
  for (const [path, sent] of [
    ['containment', { verdict: 'ok', breaches: [] }],
    ['cancel', {}],
  ] as const) {
    const [token, network] = [h.shop.publishable, from(`192.0.2.${path.length}`)]
    const headers = (index: number) => ({
      origin: SHOP_ORIGIN,
      'x-bond-watch': `${'junk'.repeat(3_000)}${index}`,
      ...network,
    })
    for (let index = 0; index < 3; index++) {
      const { status, body } = await h.api('POST', `/sessions/${session.id}/${path}`, {
        token,
        headers: headers(index),
        body: sent,
      })
      assert.deepEqual([status, body.error.reason], [400, 'invalid_header'])
    }
    const response = await headOnly(h, `POST /api/v1/sessions/${session.id}/${path}`, {
      Authorization: `Bearer ${token}`,
      ...headers(3),
      'Content-Length': 2,
    })
    assert.match(response, /^HTTP\/1.1 429 /)
  }
})

test('responds with 429 to reads of unknown sessions beyond the limit of their network, and serves backends and other networks', async () => {
  await using h = await limited('not_found=4')
  const session = await h.create()
  const read = (network: string, id = `sess_${'0'.repeat(22)}`, headers = {}) =>
    h.api('GET', `/sessions/${id}`, {
      token: h.shop.publishable,
      headers: { origin: SHOP_ORIGIN, ...from(network), ...headers },
    })
  const image = () =>
    h.call('GET', `/v1/sessions/sess_${'1'.repeat(22)}/qr.svg?nonce=x`, {
      headers: from('192.0.2.1'),
    })
  const statuses = [
    (await read('192.0.2.1')).status,
    (await read('192.0.2.1', session.id)).status,
    (await read('192.0.2.1', session.id, { 'x-bond-watch': session.watch_token })).status,
    (await image()).status,
    (await read('192.0.2.1')).status,
    (await read('192.0.2.1')).status,
    (await image()).status,
    (await read('192.0.2.2')).status,
  ]
  assert.deepEqual(statuses, [404, 404, 200, 404, 404, 429, 429, 404])
  const asBackend = { token: h.shop.server, headers: from('192.0.2.1') }
  for (let count = 0; count < 6; count++)
    assert.equal((await h.api('GET', '/sessions/x', asBackend)).status, 404)
})

test('limits every endpoint and every page', async () => {
  for (const [name, { limits }] of Object.entries(ENDPOINTS) as [string, Endpoint][])
    assert.ok(limits.length > 0, name)
  await using h = await limited('public=2/2')
  for (const path of [
    '/version',
    '/health/alive',
    '/health/ready',
    '/api/v1/openapi.json',
    '/v1/pulse.js',
    '/bond',
  ]) {
    const statuses: number[] = []
    for (const network of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'])
      statuses.push((await h.call('GET', path, { headers: from(network) })).status)
    assert.deepEqual(statuses, [200, 200, 429, 200], path)
  }
})

test('responds with unknown_endpoint to a path with an empty id', async () => {
  await using h = await harness()
  const phone = await h.register()
  for (const [method, path, token] of [
    ['GET', '/sessions/', h.shop.server],
    ['GET', '/sessions/', undefined],
    ['DELETE', '/sessions/', h.shop.server],
    ['GET', '/devices/', phone.device_token],
    ['POST', '/sessions//claim', phone.device_token],
  ] as const) {
    const { status, body } = await h.api(method, path, { token })
    assert.deepEqual(
      [status, body.error.code, body.error.reason],
      [404, 'invalid_request', 'unknown_endpoint'],
      `${method} ${path}`,
    )
  }
})
