import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { machine, type ServingProcess } from '../../../../../tests/harness/process.ts'

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'
const UPGRADE = `GET /sessions/sess_${'0'.repeat(22)} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`
/**
 * Requests whose sockets Node detaches. Node's own listeners and time-outs no longer apply to them.
 */
const DETACHED = [
  ['a CONNECT', CONNECT],
  ['an upgrade without a watch token', `${UPGRADE}\r\n`],
  [
    'an upgrade with an unknown watch token',
    `${UPGRADE}Sec-WebSocket-Protocol: bonded.v1, watch.bwt_x\r\n\r\n`,
  ],
] as const

/** Opens a client that does not close when the service closes, as a hostile one would not. */
async function open(service: ServingProcess): Promise<Socket & Disposable> {
  const socket = connect({
    port: Number(new URL(service.origin).port),
    host: '127.0.0.1',
    allowHalfOpen: true,
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.destroy() })
}

test('keeps running when a client resets its connection right after a CONNECT or an upgrade', {
  timeout: 60_000,
}, async () => {
  using m = machine()
  await using service = await m.serve()
  for (const [what, request] of DETACHED) {
    for (let count = 0; count < 20; count++) {
      const socket = await open(service)
      const closed = new Promise((resolve) => socket.once('close', resolve))
      // Half of the clients reset at once, the other half when the response arrives.
      socket.write(request, () => count % 2 === 0 && socket.resetAndDestroy())
      socket.once('data', () => socket.resetAndDestroy())
      await closed
      assert.equal((await fetch(`${service.origin}/health/alive`)).status, 200, what)
    }
  }
})

test('responds to a rejected CONNECT or upgrade, and closes its socket whatever the client does', {
  timeout: 60_000,
}, async () => {
  using m = machine()
  await using service = await m.serve()
  const assertClosed = async (what: string, request: string, more: string) => {
    using socket = await open(service)
    let response = ''
    socket.on('data', (chunk) => {
      response += String(chunk)
    })
    const responded = once(socket, 'end')
    socket.write(request + more)
    await responded
    assert.match(response, /^HTTP\/1\.1 4\d\d .*\r\nX-Request-Id: req_.*\{"error"/s, what)
    // Only a write distinguishes a closed socket, which resets, from a half-closed one. A socket
    // that stays open ends the test with its time-out.
    while (await written(socket));
  }
  await Promise.all(
    DETACHED.flatMap(([what, request]) =>
      ['', 'and a few bytes more'].map((more) => assertClosed(what, request, more)),
    ),
  )
})

function written(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => socket.write('x', (failure) => resolve(!failure)))
}

test('stops on SIGTERM without waiting for rejected CONNECTs and upgrades that clients keep open', {
  timeout: 60_000,
}, async () => {
  using m = machine()
  await using service = await m.serve()
  const sockets = await Promise.all(DETACHED.map(() => open(service)))
  for (const [index, socket] of sockets.entries()) {
    socket.write(DETACHED[index]?.[1] ?? '')
    await once(socket, 'data')
  }
  // The clients never hang up, so a service that waited for them would not end.
  assert.equal(await service.stop('SIGTERM'), 0)
  for (const socket of sockets) socket.destroy()
})
