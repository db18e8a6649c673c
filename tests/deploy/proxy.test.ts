import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { WebSocket } from 'ws'
import { CREATE_TENANT, machine } from '../harness/process.ts'
import { type Call, call, skipWithoutNginx as skip, startNginx } from './nginx.ts'

const SESSION = `sess_${'s'.repeat(22)}`
const NONCE = 'n'.repeat(43)

/** An upstream that repeats the headers it got, and counts its requests. */
async function startEcho() {
  const server = createServer(({ headers, socket }, response) =>
    response.end(JSON.stringify({ ...headers, reached: socket.localPort })),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections()
    },
  }
}

test('the proxy replaces X-Forwarded-For, passes the host, and rejects large bodies', {
  skip,
}, async () => {
  await using upstream = await startEcho()
  await using proxy = await startNginx([upstream.port])
  const headers = { 'x-forwarded-for': '203.0.113.9', host: 'bond.example.com' }
  const { text } = await call(proxy.port, '/any', { headers })
  const passed = JSON.parse(text) as Record<string, string>
  assert.deepEqual(
    [passed['x-forwarded-for'], passed['x-forwarded-proto'], passed.host, passed.upgrade],
    ['127.0.0.1', 'https', 'bond.example.com', undefined],
  )
  const large = { method: 'POST', body: Buffer.alloc(1_100_000) }
  assert.equal((await call(proxy.port, '/any', large)).status, 413)
  const permitted = { method: 'POST', body: Buffer.alloc(900_000) }
  assert.equal((await call(proxy.port, '/any', permitted)).status, 200)
})

test('the proxy passes the console and the provider by name, and the console to operators only', {
  skip,
}, async () => {
  await using service = await startEcho()
  await using console = await startEcho()
  await using ciba = await startEcho()
  const parts = { console: console.port, ciba: ciba.port }
  await using proxy = await startNginx([service.port], { parts })
  const at = (host: string, from: Call = {}) =>
    call(proxy.port, '/any', { headers: { host, 'x-forwarded-for': '203.0.113.9' }, ...from })
  for (const [host, echo, forwarded] of [
    ['console.example.com', console, '127.0.0.1'],
    ['approve.example.com', ciba, '203.0.113.9'],
    // The first server of the files is that of every other name, such as that of a probe.
    ['192.0.2.7', service, '127.0.0.1'],
  ] as const) {
    const { text } = await at(host)
    const passed = JSON.parse(text) as Record<string, unknown>
    assert.deepEqual(
      [passed['host'], passed['x-forwarded-for'], passed['reached']],
      [host, forwarded, echo.port],
    )
  }
  const stranger = { localAddress: '127.66.6.6' }
  assert.equal((await at('console.example.com', stranger)).status, 403)
})

test('a page follows its session through the proxy over a WebSocket', { skip }, async () => {
  using m = machine({ env: { BONDED_TRUST_PROXY: '1' } })
  await using service = await m.serve()
  const { server_credential } = await m.jsonMeanwhile(...CREATE_TENANT)
  await using proxy = await startNginx([Number(new URL(service.origin).port)])
  const headers = { authorization: `Bearer ${server_credential}` }
  const created = await call(proxy.port, '/api/v1/sessions', { method: 'POST', headers })
  assert.equal(created.status, 201, created.text)
  const { id, watch_token } = JSON.parse(created.text) as { id: string; watch_token: string }
  const socket = new WebSocket(
    `wss://127.0.0.1:${proxy.port}/sessions/${id}`,
    ['bonded.v1', `watch.${watch_token}`],
    { rejectUnauthorized: false },
  )
  const [frame] = (await once(socket, 'message')) as [Buffer]
  assert.equal((JSON.parse(String(frame)) as { state: string }).state, 'pending')
  const closed = once(socket, 'close')
  const killed = await call(proxy.port, `/api/v1/sessions/${id}`, { method: 'DELETE', headers })
  assert.equal(killed.status, 204)
  const [code] = (await closed) as [number]
  assert.equal(code, 1000)
})

const ATTACKER = '127.66.6.6'
const HALF_SENT = [
  'GET /health/alive HTTP/1.1\r\nhost: bond.example.com\r\n',
  'POST /api/v1/sessions HTTP/1.1\r\nhost: bond.example.com\r\ncontent-length: 900\r\n\r\n{',
]

/** Opens connections of one client, and sends each the beginning of a request. */
async function openMany(count: number, open: () => Socket) {
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const batch = Array.from({ length: Math.min(100, count - sockets.length) }, open)
    for (const socket of batch) socket.on('error', () => {})
    sockets.push(...batch)
    await Promise.all(batch.map((socket) => closedOr(socket, 'secureConnect')))
  }
  return {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Resolves at the event, or when the socket has closed, whether or not by an error. */
function closedOr(socket: Socket, event: string): Promise<void> {
  return new Promise((resolve) => {
    socket.once(event, () => resolve())
    socket.once('close', () => resolve())
  })
}

function openTls(port: number, localAddress: string): TLSSocket {
  return connect({ host: '127.0.0.1', port, localAddress, rejectUnauthorized: false } as object)
}

test('half-sent requests of one client leave no other client without a response', {
  skip,
  timeout: 60_000,
}, async () => {
  await using upstream = await startEcho()
  // Longer than the test, so that no connection of the attacker ends before the others' calls.
  await using proxy = await startNginx([upstream.port], { timeouts: '120s' })
  let sent = 0
  using _ = await openMany(1_700, () => {
    const socket = openTls(proxy.port, ATTACKER)
    socket.write(HALF_SENT[sent++ % HALF_SENT.length] ?? '')
    return socket
  })
  const others = await Promise.all(
    Array.from({ length: 12 }, (_unused, index) =>
      call(proxy.port, '/health/alive', { localAddress: `127.1.1.${index + 1}` }),
    ),
  )
  assert.deepEqual(
    others.map(({ status }) => status),
    others.map(() => 200),
  )
})

test('rejects more requests of one client at a time than the service permits', {
  skip,
}, async () => {
  await using upstream = await startEcho()
  await using proxy = await startNginx([upstream.port], { timeouts: '120s' })
  const sockets: TLSSocket[] = []
  using _ = await openMany(300, () => {
    const socket = openTls(proxy.port, ATTACKER)
    socket.write(HALF_SENT[1] ?? '')
    sockets.push(socket)
    return socket
  })
  // The first rejections arrive when as many bodies as permitted are under way.
  await Promise.race(sockets.map((socket) => closedOr(socket, 'data')))
  const own = { localAddress: ATTACKER }
  assert.equal((await call(proxy.port, '/health/alive', own)).status, 429)
  assert.equal((await call(proxy.port, '/health/alive')).status, 200)
})

test('cuts off headers that do not arrive within five seconds', { skip }, async () => {
  await using upstream = await startEcho()
  await using proxy = await startNginx([upstream.port])
  const socket = openTls(proxy.port, ATTACKER)
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nhost: bond.example.com\r\n')
  socket.resume()
  // The test ends at its time-out if nginx keeps the connection.
  await closedOr(socket, 'close')
})

test('logs no session id and no nonce, also when the service fails', { skip }, async () => {
  const paths = [
    `/bond?session_id=${SESSION}&nonce=${NONCE}`,
    `/api/v1/sessions/${SESSION}?nonce=${NONCE}`,
    `/v1/sessions/${SESSION}/qr.svg?nonce=${NONCE}`,
  ]
  await using proxy = await (async () => {
    await using upstream = await startEcho()
    const running = await startNginx([upstream.port])
    for (const path of paths) assert.equal((await call(running.port, path)).status, 200)
    return running
  })()
  // The upstream has ended.
  for (const path of paths) {
    assert.equal((await call(proxy.port, path)).status, 502)
    const large = { method: 'POST', body: Buffer.alloc(1_100_000) }
    assert.equal((await call(proxy.port, path, large)).status, 413)
  }
  const logs = proxy.logs()
  assert.match(logs, / 502 /)
  assert.ok(!logs.includes(SESSION) && !logs.includes(NONCE), logs)
})
