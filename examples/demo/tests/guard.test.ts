import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { SOFTWARE_PHONE_PATHS } from '../src/phone/software-phone.ts'
import { harness } from '../../../tests/harness/harness.ts'
import { openDemo } from './harness.ts'

const d = await openDemo()
after(() => d[Symbol.asyncDispose]())
const { port } = new URL(d.phoneOrigin)
const CONTROLS = [
  '/phone/scan',
  '/scenario',
  '/agent/run',
  '/agent/open',
  '/service/stop',
  '/service/start',
]
const PAGES = [
  '/',
  '/phone',
  '/activity',
  '/agent?scenario=agent',
  '/phone.js',
  '/live.js',
  '/relay/qr.svg',
]

/** A call with exactly these headers, as an attacker's program can send it. */
async function send(path: string, headers: Record<string, string>, body = '{"name":"normal"}') {
  const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage]
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}
const OWN = {
  host: `localhost:${port}`,
  origin: d.phoneOrigin,
  'content-type': 'application/json',
  'x-demo-token': d.phoneToken,
}

test('accepts a call of its own page', async () => {
  assert.equal((await send('/scenario', OWN)).status, 200)
  assert.equal((await send('/scenario', { ...OWN, 'sec-fetch-site': 'same-origin' })).status, 200)
})

test('rejects every control to a foreign page, and changes nothing', async () => {
  const { origin: _origin, ...withoutOrigin } = OWN
  const { 'x-demo-token': _token, ...withoutToken } = OWN
  const before = [...d.calls]
  for (const path of CONTROLS)
    for (const [why, headers] of Object.entries({
      'another site': { ...OWN, origin: 'https://evil.example' },
      'an opaque origin': { ...OWN, origin: 'null' },
      'the bank, which frames the phone': { ...OWN, origin: 'http://localhost:1' },
      'the relaying page': { ...OWN, origin: d.relayOrigin },
      'no origin': withoutOrigin,
      'no token': withoutToken,
      'the token of the relaying page': { ...OWN, 'x-demo-token': d.relayToken },
      'a wrong token': { ...OWN, 'x-demo-token': 'x'.repeat(43) },
      'a same-site page by fetch metadata': { ...OWN, 'sec-fetch-site': 'same-site' },
    })) {
      const { status, headers: received } = await send(path, headers)
      assert.equal(status, 403, `${path} from ${why}`)
      assert.equal(received['access-control-allow-origin'], undefined)
    }
  assert.deepEqual(d.calls, before)
})

test('rejects a request that names another host, as after DNS rebinding', async () => {
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    `localhost.evil.example:${port}`,
    'localhost',
    `[::1]:${port}`,
  ]) {
    const { status } = await send('/scenario', { ...OWN, host, origin: `http://${host}` })
    assert.equal(status, 421, host)
  }
})

test('keeps the controls of the phone away from the relaying page', async () => {
  const headers = {
    ...OWN,
    host: `127.0.0.1:${port}`,
    origin: d.relayOrigin,
    'x-demo-token': d.relayToken,
  }
  for (const path of CONTROLS) assert.equal((await send(path, headers)).status, 404, path)
  assert.equal((await send('/relay/refused', headers, '{"reason":"x"}')).status, 200)
})

test('responds to no preflight, and lets only the pages of the demo frame the phone', async () => {
  const preflight = await fetch(`${d.phoneOrigin}/scenario`, {
    method: 'OPTIONS',
    headers: { origin: 'http://localhost:1', 'access-control-request-method': 'POST' },
  })
  assert.equal(preflight.status, 405)
  assert.equal(preflight.headers.get('access-control-allow-origin'), null)
  for (const path of PAGES) {
    const page = await fetch(d.phoneOrigin + path)
    assert.equal(page.headers.get('access-control-allow-origin'), null, path)
    assert.equal(page.headers.get('cross-origin-resource-policy'), 'same-origin')
    assert.match(
      page.headers.get('content-security-policy') ?? '',
      new RegExp(`frame-ancestors 'self' http://localhost:1 ${d.relayOrigin};`),
    )
  }
})

test('lets the bank’s page load the script of the passkey in its scenario only', () => {
  const { scenarios } = d.demo.forBank
  assert.deepEqual(
    scenarios.flatMap(({ name, script }) => (script === undefined ? [] : [[name, script]])),
    [['browser', `http://localhost:2${SOFTWARE_PHONE_PATHS.passkey}`]],
  )
})

test('rejects a malformed or large body', async () => {
  for (const [body, status, type = 'application/json'] of [
    ['{', 400],
    ['[]', 400],
    ['null', 400],
    ['{"name":"__proto__"}', 400],
    ['{"name":{"toString":1}}', 400],
    [`{"name":"${'x'.repeat(2_000)}"}`, 413],
    ['{"name":"normal"}', 415, 'text/plain'],
  ] as const)
    assert.equal((await send('/scenario', { ...OWN, 'content-type': type }, body)).status, status)
  assert.equal((await send('/phone/scan', OWN)).status, 409, 'no page shows a QR code')
})

test('sends what the phone shows only to a page of the demo that has the token', async () => {
  const open = (protocols: string[], headers: Record<string, string>) => {
    const socket = new WebSocket(`${d.phoneOrigin.replace('http', 'ws')}/live`, protocols, {
      headers,
    })
    // Rejects with the error of the handshake, if there is one.
    return once(socket, 'message').then(
      ([data]) => {
        socket.terminate()
        return Object.keys(JSON.parse(String(data)) as object)
      },
      (error: unknown) => String(error),
    )
  }
  const origin = d.phoneOrigin
  assert.deepEqual(await open(['demo', `token.${d.phoneToken}`], { origin }), [
    'code',
    'agent',
    'activity',
    'isServiceRunning',
  ])
  for (const [protocols, headers] of [
    [['demo'], { origin }],
    [['demo', `token.${d.relayToken}`], { origin }],
    [['demo', `token.${d.phoneToken}`], { origin: 'https://evil.example' }],
    [['demo', `token.${d.phoneToken}`], { origin: d.relayOrigin }],
    [['demo', `token.${d.phoneToken}`], {}],
  ] as const)
    assert.match(String(await open([...protocols], headers)), /403/)
})

test('listens on the loopback address only', async () => {
  const addresses = Object.values(networkInterfaces())
    .flatMap((found) => found ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
  for (const { address } of addresses)
    await assert.rejects(fetch(`http://${address}:${port}/`), /fetch failed/)
})

test('a service that bonded serve starts has none of the demo’s paths', async () => {
  await using h = await harness()
  for (const path of [...CONTROLS, '/relay/start', '/relay/refused'])
    assert.equal((await h.call('POST', path, { body: {} })).status, 404, path)
  for (const path of [
    '/phone',
    '/activity',
    '/live',
    '/phone.js',
    '/live.js',
    '/relay/qr.svg',
    ...Object.values(SOFTWARE_PHONE_PATHS),
  ])
    assert.equal((await h.call('GET', path)).status, 404, path)
})
