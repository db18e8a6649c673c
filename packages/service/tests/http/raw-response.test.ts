import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { machine, type ServingProcess } from '../harness/process.ts'

const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'
const UPGRADE = `GET /sessions/sess_${'0'.repeat(22)} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`
/** Both are handed over by Node, which forgets their sockets: neither its own listeners nor its own limits hold for them. */
const HANDED_OVER = [
  ['a CONNECT', CONNECT],
  ['an upgrade without a watch token', `${UPGRADE}\r\n`],
  [
    'an upgrade with a watch token of nobody',
    `${UPGRADE}Sec-WebSocket-Protocol: bonded.v1, watch.bwt_x\r\n\r\n`,
  ],
] as const

/** Long after the service gives up a socket, and long before a process manager gives up the service. */
const CLOSED_WITHIN_MS = 5_000
const ENDS_WITHIN_MS = 8_000

/** A client that does not close when it is told to, as a hostile one would not. */
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

test('a client that resets its connection right after a CONNECT or an upgrade ends nothing', {
  timeout: 60_000,
}, async () => {
  using m = machine()
  await using service = await m.serve()
  for (const [what, request] of HANDED_OVER) {
    for (let count = 0; count < 20; count++) {
      const socket = await open(service)
      const closed = new Promise((resolve) => socket.once('close', resolve))
      // Once at once, and once as the answer comes.
      socket.write(request, () => count % 2 === 0 && socket.resetAndDestroy())
      socket.once('data', () => socket.resetAndDestroy())
      await closed
      assert.equal((await fetch(`${service.origin}/health/alive`)).status, 200, what)
    }
  }
})

test('a refused CONNECT or upgrade is answered, and its socket closed whatever the client does', {
  timeout: 60_000,
}, async () => {
  using m = machine()
  await using service = await m.serve()
  const holds = async (what: string, request: string, more: string) => {
    using socket = await open(service)
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    const answered = once(socket, 'end')
    const startedAt = Date.now()
    socket.write(request + more)
    await answered
    assert.match(answer, /^HTTP\/1\.1 4\d\d .*\r\nX-Request-Id: req_.*\{"error"/s, what)
    // Only bytes tell a closed socket from one that is closed in one direction: the former resets.
    while (await written(socket)) assert.ok(Date.now() - startedAt < CLOSED_WITHIN_MS, what)
  }
  await Promise.all(
    HANDED_OVER.flatMap(([what, request]) =>
      ['', 'and a few bytes more'].map((more) => holds(what, request, more)),
    ),
  )
})

function written(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => socket.write('x', (failure) => resolve(!failure)))
}

test('on SIGTERM refused CONNECTs and upgrades that their clients hold open hold nothing up', {
  timeout: 60_000,
}, async () => {
  using m = machine()
  await using service = await m.serve()
  const sockets = await Promise.all(HANDED_OVER.map(() => open(service)))
  for (const [at, socket] of sockets.entries()) {
    socket.write(HANDED_OVER[at]?.[1] ?? '')
    await once(socket, 'data')
  }
  const stoppedAt = Date.now()
  assert.equal(await service.stop('SIGTERM'), 0)
  assert.ok(Date.now() - stoppedAt < ENDS_WITHIN_MS, `${Date.now() - stoppedAt} ms`)
  for (const socket of sockets) socket.destroy()
})
