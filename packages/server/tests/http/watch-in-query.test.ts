import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { WATCH_PARAMETER } from '@bonded/contract'
import { WebSocket } from 'ws'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const tokenIn = (url: string) => new URL(url).searchParams.get(WATCH_PARAMETER)

test('gives the watch token in websocket_url to a backend only', async () => {
  const phone = await h.register()
  const session = await h.create()
  assert.equal(tokenIn(session.websocket_url), session.watch_token)
  assert.equal(tokenIn((await h.get(session)).body.websocket_url), session.watch_token)
  assert.equal(tokenIn((await h.claim(phone, session)).body.websocket_url), null)
  const page = await h.api('GET', `/sessions/${session.id}`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  })
  assert.equal(page.status, 200)
  assert.equal(tokenIn(page.body.websocket_url), null)
})

test('rejects a request that carries a watch token in the query, and logs no query', async () => {
  const session = await h.create()
  const query = `${WATCH_PARAMETER}=${session.watch_token}`
  const before = h.lines.length
  for (const [path, options] of [
    [`/api/v1/sessions/${session.id}?${query}`, { token: h.shop.server }],
    [`/api/v1/sessions/${session.id}?wait_ms=0&${query}`, { token: h.shop.publishable }],
    [`/api/v1/sessions/${session.id}?watch%5Ftoken=x`, {}],
  ] as const) {
    const { status, body } = await h.call('GET', path, options)
    assert.deepEqual(
      [status, body.error.reason, body.error.param],
      [400, 'invalid_parameter', WATCH_PARAMETER],
    )
  }
  const lines = h.lines.slice(before).join('')
  assert.match(lines, /invalid_parameter/)
  assert.ok(!lines.includes(session.watch_token) && !lines.includes(WATCH_PARAMETER), lines)
})

const upgrade = (url: string, protocols: readonly string[] = [], origin?: string) =>
  new Promise<number>((resolve) => {
    const address = new URL(url)
    address.protocol = 'ws:'
    address.host = `127.0.0.1:${h.running.port}`
    const socket = new WebSocket(address, [...protocols], origin === undefined ? {} : { origin })
    socket.on('error', () => {})
    socket.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0)
      socket.terminate()
    })
    socket.once('message', () => {
      resolve(101)
      socket.terminate()
    })
  })

test('opens the websocket_url of a session as it is, from a program and from the tenant’s page', async () => {
  const session = await h.create()
  const phone = await h.register()
  const before = h.lines.length
  assert.equal(await upgrade(session.websocket_url), 101)
  assert.equal((await h.view(phone, session)).requesting_origin, null)
  assert.equal(await upgrade(session.websocket_url, [], SHOP_ORIGIN), 101)
  assert.equal((await h.view(phone, session)).requesting_origin, SHOP_ORIGIN)
  assert.equal(await upgrade(session.websocket_url, ['bonded.v1']), 101)
  const lines = h.lines.slice(before).join('')
  assert.ok(!lines.includes(session.watch_token) && !lines.includes(WATCH_PARAMETER), lines)
})

test('rejects a websocket_url from another page, of another session, and with two tokens', async () => {
  const session = await h.create()
  const other = await h.create()
  const url = session.websocket_url
  const token = `watch.${session.watch_token}`
  const key = `key.${h.shop.publishable}`
  for (const [expected, rejected] of [
    [403, upgrade(url, [], 'https://evil.example')],
    [403, upgrade(url, ['bonded.v1', key], 'https://evil.example')],
    [404, upgrade(url.replace(session.watch_token, other.watch_token), [], SHOP_ORIGIN)],
    [404, upgrade(url.replace(session.watch_token, ''), [], SHOP_ORIGIN)],
    [400, upgrade(url, ['bonded.v1', token])],
    [400, upgrade(`${url}&${WATCH_PARAMETER}=${other.watch_token}`)],
    [401, upgrade(url.split('?')[0] ?? '')],
    [401, upgrade(url, ['something.else'])],
  ] as const)
    assert.equal(await rejected, expected)
})

test('a photograph of an old QR code buys neither the watch token nor the current nonce', async () => {
  const session = await h.create()
  const stranger = await h.register()
  // The next challenge is shown, and the photographed one is still accepted.
  h.clock.advance(session.challenge_rotates_in_ms)
  const current = (await h.get(session)).body
  assert.notEqual(current.nonce, session.nonce)
  const seen = await h.view(stranger, session)
  assert.equal(seen.nonce, session.nonce)
  const anonymous = await h.call('GET', `/api/v1/sessions/${session.id}?nonce=${session.nonce}`)
  const page = await h.call('GET', `/bond?session_id=${session.id}&nonce=${session.nonce}`)
  for (const response of [seen, anonymous.body, page.text])
    for (const secret of [session.watch_token, current.nonce])
      assert.ok(!JSON.stringify(response).includes(secret))
})
