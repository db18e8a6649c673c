import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { harness } from '../../../../tests/harness/harness.ts'
import { rawClient, rawRequest } from '../../../../tests/harness/raw-http.ts'
import { listenWhileWaiting } from '../../src/http/connection/waiting-server.ts'
import { classify } from '../../src/http/shedding/priority.ts'
import { parseTrustedProxies } from '../../src/http/connection/client-address.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

async function responseTo(bytes: string, port = h.running.port): Promise<string> {
  using client = await rawClient(port)
  client.send(bytes)
  return await client.closed
}
const statusOf = (response: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1])

/** What browsers and probes read, with the status that this service answers. */
const READ = [
  ['/health/alive', 200],
  ['/health/ready', 200],
  ['/version', 200],
  ['/v1/pulse.js', 200],
  ['/v1/integrity.json', 200],
  ['/.well-known/jwks.json', 200],
  ['/receipts/log/checkpoint', 404],
  [`/pulse/${h.shop.tenant.id}`, 404],
] as const

test('serves a probe by HTTP/1.0 without Host, as HAProxy sends it', async () => {
  for (const method of ['GET', 'HEAD'])
    for (const path of ['/health/alive', '/health/ready'])
      assert.equal(statusOf(await responseTo(`${method} ${path} HTTP/1.0\r\n\r\n`)), 200, path)
  assert.equal(
    statusOf(await responseTo('GET /version HTTP/1.1\r\nConnection: close\r\n\r\n')),
    400,
  )
})

test('answers HEAD where browsers and probes GET, with the length and without the body', async () => {
  for (const [path, status] of READ) {
    const [got, head] = [
      await responseTo(rawRequest(`GET ${path}`, { Connection: 'close' })),
      await responseTo(rawRequest(`HEAD ${path}`, { Connection: 'close' })),
    ]
    assert.equal(statusOf(got), status, path)
    assert.equal(statusOf(head), status, path)
    const [headers = '', body = ''] = head.split('\r\n\r\n')
    assert.equal(body, '', path)
    const length = /content-length: (\d+)/i
    assert.equal(length.exec(headers)?.[1], length.exec(got)?.[1], path)
  }
})

const PAGES = [
  '/bond',
  '/bond/page-x.js',
  '/frame/ten_x',
  '/frame/script/x',
  '/webhooks/ten_x',
  '/webhooks/script/x',
  '/v1/pulse.js',
  '/v1/checks/x',
  '/v1/leg/x',
  '/v1/style/x',
  '/v1/lang/x/y',
  '/v1/logos/x',
  '/v1/sessions/sess_x/qr.svg',
  '/.well-known/jwks.json',
  '/.well-known/webauthn',
  '/.well-known/apple-app-site-association',
  '/.well-known/assetlinks.json',
  '/receipts/log/checkpoint',
  '/receipts/log/consistency/1/1',
  '/receipts/log/tile/entries/x001/002.p/3',
]

test('answers HEAD on every page, and names it beside GET for another method', async () => {
  const { version } = (await h.call('GET', '/v1/integrity.json')).body
  for (const path of [...PAGES, `/v1/pulse-${version}.js`, `/v1/pulse-${version}.js.map`]) {
    const head = await h.call('HEAD', path)
    assert.notEqual(head.status, 405, path)
    const posted = await h.call('POST', path)
    assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD'], path)
  }
})

test('a service that waits for its database answers both forms of a probe', async () => {
  const unready = () => ['store_unreadable'] as const
  const waiting = { host: 'localhost', port: 0, random: h.service.random, unready }
  await using server = await listenWhileWaiting(waiting)
  for (const method of ['GET', 'HEAD'])
    for (const [path, status] of [
      ['alive', 200],
      ['ready', 503],
    ] as const) {
      const probe = `${method} /health/${path} HTTP/1.0\r\n\r\n`
      assert.equal(statusOf(await responseTo(probe, server.port)), status)
    }
})

test('never sheds a probe by HEAD', () => {
  const request = { method: 'HEAD', url: '/health/ready', headers: {} }
  assert.equal(classify(request).priority, 'exempt')
})

test('the header Keep-Alive says how long the connection stays open', async () => {
  const proxies = parseTrustedProxies('127.0.0.9') ?? 0
  await using own = await harness({ trustedProxies: proxies })
  const ended: Promise<Socket>[] = []
  own.running.app.server.on('request', ({ socket }, response) =>
    ended.push(once(response, 'close').then(() => socket)),
  )
  const create = rawRequest('POST /api/v1/sessions', { Authorization: `Bearer ${own.shop.server}` })
  for (const [request, localAddress, seconds] of [
    [rawRequest('GET /health/alive'), '127.0.0.1', 10],
    [create, '127.0.0.1', 72],
    [rawRequest('GET /health/alive'), '127.0.0.9', 3_610],
  ] as const) {
    using client = await rawClient(own.running.port, { localAddress })
    client.send(request)
    assert.match(await client.until('}'), new RegExp(`\r\nkeep-alive: timeout=${seconds}\r\n`, 'i'))
    // The service closes a second later, so a client that closes in time loses nothing.
    assert.equal((await ended.at(-1))?.timeout, (seconds + 1) * 1_000)
  }
})
