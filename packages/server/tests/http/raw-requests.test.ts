import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { upgradeRequest } from '../channel/upgrade-request.ts'
import { harness } from '../../../../tests/harness/harness.ts'
import { rawClient, rawRequest } from '../../../../tests/harness/raw-http.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const AUTHORIZED = { Authorization: `Bearer ${h.shop.server}`, 'Content-Type': 'application/json' }
const BODY = JSON.stringify({ workflow: 'credit_application' })
const CREATE = 'POST /api/v1/sessions'

/** Sends bytes, ends the client's side, and returns the response. */
async function responseTo(bytes: string): Promise<string> {
  using client = await rawClient(h.running.port)
  client.socket.end(bytes)
  return await client.closed
}

function isRejected(response: string, status: number, reason: string): void {
  assert.match(response, new RegExp(`^HTTP/1.1 ${status} [^]*"reason":"${reason}"`), response)
  assert.match(response, /"requestId":"req_/)
  assert.doesNotMatch(response, /\.ts:|node:|Error:|stack/)
  assert.equal(response.split('HTTP/1.1 ').length, 2, `one response: ${response}`)
}

test('responds with 405 in the error shape to QUERY and unknown methods', async () => {
  for (const path of ['/version', '/api/v1/sessions', '/api/v1/devices'])
    for (const method of ['QUERY', 'FOO', 'M-SEARCH', 'get', 'PRI', 'BREW'])
      for (const headers of [{}, AUTHORIZED, { 'Content-Type': 'x' }]) {
        const response = await responseTo(rawRequest(`${method} ${path}`, headers))
        isRejected(response, 405, 'method_not_allowed')
        assert.match(response, /\r\nallow: (GET|POST)/i)
      }
})

test('responds with 405 to QUERY before it reads the body', async () => {
  using client = await rawClient(h.running.port)
  client.send(rawRequest(`QUERY /api/v1/sessions`, { ...AUTHORIZED, 'Content-Length': 100 }))
  isRejected(await client.until('"requestId"'), 405, 'method_not_allowed')
})

test('rejects a repeated header that allows only one value', async () => {
  for (const double of [
    'Host: x\r\nHost: y',
    'Host: x\r\nHost: x',
    `Host: x\r\nAuthorization: Bearer ${h.shop.server}\r\nAuthorization: Bearer junk`,
    'Host: x\r\nOrigin: https://a.example\r\nOrigin: https://b.example',
    'Host: x\r\nContent-Type: application/json\r\nContent-Type: text/plain',
  ])
    isRejected(
      await responseTo(`GET /version HTTP/1.1\r\n${double}\r\nConnection: close\r\n\r\n`),
      400,
      'malformed_request',
    )
})

test('rejects an upgrade with a repeated or missing header that requires one value', async () => {
  const session = await h.create()
  const upgrade = upgradeRequest(session, {
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  })
  using client = await rawClient(h.running.port)
  client.send(upgrade)
  assert.match(await client.until('heartbeat_ms'), /^HTTP\/1\.1 101 /)
  const origin = 'Origin: https://a.example\r\n'
  for (const hosts of ['Host: x\r\nHost: y\r\n', '', `Host: x\r\n${origin}${origin}`])
    isRejected(await responseTo(upgrade.replace('Host: x\r\n', hosts)), 400, 'malformed_request')
})

test('logs no error when a client aborts its upload', async () => {
  const before = h.lines.length
  for (const partial of ['', '{"workflow":'])
    for (const headers of [{ 'Content-Length': 100 }, { 'Transfer-Encoding': 'chunked' }]) {
      using client = await rawClient(h.running.port)
      client.send(rawRequest(CREATE, { ...AUTHORIZED, ...headers, Expect: '100-continue' }))
      await client.until('100 Continue')
      const chunk = 'Transfer-Encoding' in headers && partial !== '' ? `c\r\n${partial}` : partial
      await new Promise((resolve) => client.socket.write(chunk, resolve))
      client.socket.resetAndDestroy()
    }
  // The service has handled the aborted connections before it responds to these.
  for (let count = 0; count < 5; count++) await h.create()
  const levels = h.lines.slice(before).map((line) => JSON.parse(line).level as string)
  assert.deepEqual([...new Set(levels)], ['info'])
})

test('rejects a body shorter than declared, and parses bytes after a complete body as the next request', async () => {
  const short = await responseTo(
    rawRequest(CREATE, { ...AUTHORIZED, 'Content-Length': BODY.length + 5 }, BODY),
  )
  assert.doesNotMatch(short, /201/)
  const long = await responseTo(
    rawRequest(CREATE, { ...AUTHORIZED, 'Content-Length': BODY.length }, `${BODY}GARBAGE\r\n\r\n`),
  )
  assert.doesNotMatch(long, /^HTTP\/1.1 4/, 'the first answer is not that of the second request')
})

test('ignores chunk extensions and trailers, and treats no trailer as a header', async () => {
  const chunk = `${BODY.length.toString(16)};a=b\r\n${BODY}\r\n0\r\n`
  // Node ends a connection whose client has ended its side, also before a response.
  using client = await rawClient(h.running.port)
  client.send(
    rawRequest(
      CREATE,
      { ...AUTHORIZED, 'Transfer-Encoding': 'chunked', Connection: 'close' },
      `${chunk}X-Trailer: 1\r\n\r\n`,
    ),
  )
  const ok = await client.closed
  assert.match(ok, /^HTTP\/1.1 201 /)
  const { Authorization: token, ...others } = AUTHORIZED
  const none = await responseTo(
    rawRequest(
      CREATE,
      { ...others, 'Transfer-Encoding': 'chunked', Connection: 'close' },
      `${chunk}Authorization: ${token}\r\n\r\n`,
    ),
  )
  isRejected(none, 401, 'credential_missing')
})

test('serves HTTP/1.0 and closes the connection', async () => {
  const response = await responseTo('GET /version HTTP/1.0\r\nHost: x\r\n\r\n')
  assert.match(response, /^HTTP\/1.1 200 [^]*"version"/)
})

test('sends one response to an upgrade request with a body, and does not parse the body as a request', async () => {
  for (const path of ['/version', `/sessions/sess_${'0'.repeat(22)}`, '/api/v1/sessions']) {
    const smuggled = rawRequest('GET /health/alive')
    const response = await responseTo(
      rawRequest(
        `GET ${path}`,
        { Connection: 'Upgrade', Upgrade: 'websocket', 'Content-Length': smuggled.length },
        smuggled,
      ),
    )
    assert.equal(response.split('HTTP/1.1 ').length, 2, response)
    assert.doesNotMatch(response, /"alive"/)
  }
})

test('discards a small declared body after a rejection, and serves the next request on the connection', async () => {
  using client = await rawClient(h.running.port)
  client.send(
    rawRequest('POST /api/v1/attestations', { 'Content-Length': 65_000 }, 'x'.repeat(65_000)),
  )
  await client.until('credential_missing')
  client.send(rawRequest('GET /health/alive'))
  await client.until('"status":"alive"')
})

test('closes the connection of a rejected body that never ends', async () => {
  using client = await rawClient(h.running.port)
  client.send(rawRequest('POST /api/v1/attestations', { 'Transfer-Encoding': 'chunked' }))
  const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`
  const more = () => {
    if (!client.socket.destroyed) client.socket.write(chunk, () => setImmediate(more))
  }
  more()
  assert.match(await client.closed, /credential_missing/)
})

// A browser connects ahead of its requests. It would take a response for that to its first one.
test('closes a connection without any request silently, and responds to half a request', async () => {
  const { server } = h.running.app
  const { headersTimeout } = server
  server.headersTimeout = 1
  using idle = await rawClient(h.running.port)
  using slow = await rawClient(h.running.port)
  slow.send('GET /version HTTP/1.1\r\nHost:')
  assert.equal(await idle.closed, '')
  isRejected(await slow.closed, 400, 'request_timeout')
  server.headersTimeout = headersTimeout
})
