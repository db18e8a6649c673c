import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { queueRequests, REQUESTS_PER_TURN } from '../../src/http/request-queue.ts'

/** The part of a request that the queue uses. */
interface Request {
  readonly socket: { readonly remoteAddress: string; destroyed: boolean }
}

const BACKEND = '203.0.113.9'

/** A server that notes which requests it starts, in order. */
function queuedServer() {
  const server = createServer()
  const started: Request[] = []
  server.on('request', (request: IncomingMessage) => started.push(request as unknown as Request))
  const queue = queueRequests(server, ({ remoteAddress }) => remoteAddress === BACKEND)
  const send = (remoteAddress: string, count = 1) =>
    Array.from({ length: count }, () => {
      const request: Request = { socket: { remoteAddress, destroyed: false } }
      server.emit('request', request, {})
      return request
    })
  return { started, queue, send }
}

test('starts a few requests at once, and no request waits without a burst', async () => {
  const { started, queue, send } = queuedServer()
  for (let turn = 0; turn < 3; turn++) {
    send('192.0.2.1', REQUESTS_PER_TURN)
    assert.equal(started.length, (turn + 1) * REQUESTS_PER_TURN)
    await nextTurn()
  }
  assert.equal(queue.size(), 0)
})

test('spreads a burst over turns, and starts each request exactly once and in order', async () => {
  const { started, queue, send } = queuedServer()
  const burst = send('192.0.2.1', 100)
  assert.equal(queue.size(), 100 - REQUESTS_PER_TURN)
  for (let turn = 1; turn <= 100 / REQUESTS_PER_TURN + 1; turn++) {
    await nextTurn()
    assert.ok(started.length <= (turn + 1) * REQUESTS_PER_TURN)
  }
  assert.deepEqual(started, burst)
})

test('starts a request of a backend at once during a burst', () => {
  const { started, send } = queuedServer()
  send('192.0.2.1', 100)
  const [request] = send(BACKEND)
  assert.equal(started.at(-1), request)
})

test('starts a request of another network in the turn after the burst', async () => {
  const { started, send } = queuedServer()
  send('192.0.2.1', 500)
  const [request] = send('198.51.100.7')
  await nextTurn()
  assert.ok(started.includes(request as Request))
})

test('counts the addresses of one IPv6 network as one', async () => {
  const { started, send } = queuedServer()
  for (let host = 0; host < 100; host++) send(`2001:db8::${host.toString(16)}`)
  const [other] = send('2001:db8:1::1')
  await nextTurn()
  assert.ok(started.includes(other as Request))
})

test('skips a request whose client disconnected while it waited', async () => {
  const { started, send } = queuedServer()
  const gone = send('192.0.2.1', 2 * REQUESTS_PER_TURN).at(-1) as Request
  gone.socket.destroyed = true
  await nextTurn()
  assert.ok(!started.includes(gone))
})

test('drops the waiting requests when the service stops', async () => {
  const { started, queue, send } = queuedServer()
  send('192.0.2.1', 100)
  queue[Symbol.dispose]()
  await nextTurn()
  assert.equal(queue.size(), 0)
  assert.equal(started.length, REQUESTS_PER_TURN)
})
