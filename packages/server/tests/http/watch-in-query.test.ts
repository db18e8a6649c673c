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

test('rejects a request and a channel that carry a watch token in the query, and logs no query', async () => {
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
  const protocols = ['bonded.v1', `watch.${session.watch_token}`]
  const socket = new WebSocket(
    `ws://127.0.0.1:${h.running.port}/sessions/${session.id}?${query}`,
    protocols,
  )
  const status = await new Promise((resolve) => {
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode))
    socket.once('open', () => resolve(101))
  })
  socket.on('error', () => {}).terminate()
  assert.equal(status, 400)
  const lines = h.lines.slice(before).join('')
  assert.match(lines, /invalid_parameter/)
  assert.ok(!lines.includes(session.watch_token) && !lines.includes(WATCH_PARAMETER), lines)
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
