import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { createServer, type Server } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { NEW_CONNECTIONS_PER_TURN, queueConnections } from '../../src/http/accept-queue.ts'

/** The part of a socket that the queue uses. */
class Connection extends EventEmitter {
  readonly remoteAddress: string
  destroyed = false
  resumed = false

  constructor(remoteAddress: string) {
    super()
    this.remoteAddress = remoteAddress
  }

  resume(): void {
    this.resumed = true
  }

  destroy(): void {
    this.destroyed = true
  }
}

/** A server that notes which connections it serves, in order. */
function queuedServer() {
  const server: Server = createServer()
  const served: Connection[] = []
  server.removeAllListeners('connection')
  server.on('connection', (socket) => served.push(socket as unknown as Connection))
  const queue = queueConnections(server)
  const connect = (address: string, count = 1) =>
    Array.from({ length: count }, () => {
      const connection = new Connection(address)
      server.emit('connection', connection)
      return connection
    })
  return { server, served, queue, connect }
}

test('serves a few new connections at once, and no connection waits without a burst', async () => {
  const { served, queue, connect } = queuedServer()
  for (let turn = 0; turn < 3; turn++) {
    connect('192.0.2.1', NEW_CONNECTIONS_PER_TURN)
    assert.equal(served.length, (turn + 1) * NEW_CONNECTIONS_PER_TURN)
    await nextTurn()
  }
  assert.equal(queue.size(), 0)
  assert.ok(served.every(({ resumed }) => resumed))
})

test('spreads a burst over turns, and serves each connection exactly once', async () => {
  const { served, queue, connect } = queuedServer()
  const burst = connect('192.0.2.1', 100)
  assert.equal(served.length, NEW_CONNECTIONS_PER_TURN)
  assert.equal(queue.size(), 100 - NEW_CONNECTIONS_PER_TURN)
  for (let turn = 1; turn <= 100 / NEW_CONNECTIONS_PER_TURN + 1; turn++) {
    await nextTurn()
    assert.ok(served.length <= (turn + 1) * NEW_CONNECTIONS_PER_TURN)
  }
  assert.deepEqual(served, burst)
})

test('serves a connection of another network in the turn after the burst', async () => {
  const { served, connect } = queuedServer()
  connect('192.0.2.1', 500)
  const [backend] = connect('198.51.100.7')
  await nextTurn()
  assert.ok(served.includes(backend as Connection))
  assert.ok(served.length <= 2 * NEW_CONNECTIONS_PER_TURN)
})

test('counts the addresses of one IPv6 network as one', async () => {
  const { served, connect } = queuedServer()
  for (let host = 0; host < 100; host++) connect(`2001:db8::${host.toString(16)}`)
  const [other] = connect('2001:db8:1::1')
  await nextTurn()
  assert.ok(served.includes(other as Connection))
})

test('skips a connection that ended while it waited', async () => {
  const { served, connect } = queuedServer()
  const burst = connect('192.0.2.1', 2 * NEW_CONNECTIONS_PER_TURN)
  const gone = burst.at(-1) as Connection
  gone.emit('error', new Error('reset by the client'))
  gone.destroy()
  await nextTurn()
  assert.ok(!served.includes(gone))
})

test('destroys the waiting connections when the service stops', () => {
  const { queue, connect } = queuedServer()
  const burst = connect('192.0.2.1', 100)
  queue[Symbol.dispose]()
  assert.equal(queue.size(), 0)
  assert.equal(burst.filter(({ destroyed }) => destroyed).length, 100 - NEW_CONNECTIONS_PER_TURN)
})

test('leaves the bytes of a waiting connection in the kernel', () => {
  const { server } = queuedServer()
  assert.equal((server as unknown as { pauseOnConnect: boolean }).pauseOnConnect, true)
})
