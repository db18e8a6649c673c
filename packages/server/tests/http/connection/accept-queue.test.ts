import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'node:test'
import {
  MAX_HOLD_MS,
  NEW_CONNECTIONS_PER_TURN,
  queueConnections,
} from '../../../src/http/connection/accept-queue.ts'

/** The part of a socket that the queue uses. */
class Connection extends EventEmitter {
  readonly network: string
  destroyed = false
  resumed = false

  constructor(network: string) {
    super()
    this.network = network
  }

  resume(): void {
    this.resumed = true
  }

  destroy(): void {
    this.destroyed = true
  }
}

/** A server that notes which connections it serves, in order, with a clock that tests move. */
function queuedServer() {
  const server: Server = createServer()
  const served: Connection[] = []
  const clock = { nowMs: 0 }
  server.removeAllListeners('connection')
  server.on('connection', (socket) => served.push(socket as unknown as Connection))
  const queue = queueConnections(server, {
    networkOf: (socket: Socket) => (socket as unknown as Connection).network,
    now: () => clock.nowMs,
  })
  const connect = (network: string, count = 1) =>
    Array.from({ length: count }, () => {
      const connection = new Connection(network)
      server.emit('connection', connection)
      return connection
    })
  /** Accepts one connection in each of several turns, as Node does. */
  const connectInTurns = async (network: string, count: number) => {
    const connections: Connection[] = []
    for (let turn = 0; turn < count; turn++) {
      connections.push(...connect(network))
      await nextTurn()
    }
    return connections
  }
  return { server, served, queue, clock, connect, connectInTurns }
}

test('serves a lone connection before its turn ends', async () => {
  const { served, queue, connect } = queuedServer()
  const [first] = connect('a')
  assert.equal(queue.size(), 1)
  await nextTurn()
  assert.deepEqual(served, [first])
  assert.ok(first?.resumed)
  assert.equal(queue.size(), 0)
})

test('holds the connections of consecutive turns until a turn without a new connection', async () => {
  const { served, queue, connectInTurns } = queuedServer()
  const burst = await connectInTurns('a', 20)
  assert.deepEqual(served, burst.slice(0, 1), 'the first one did not wait')
  assert.equal(queue.size(), 19)
  await nextTurn()
  assert.equal(served.length, 1 + NEW_CONNECTIONS_PER_TURN)
})

test('ends a hold at its limit, also while further connections arrive', async () => {
  const { served, clock, connect, connectInTurns } = queuedServer()
  await connectInTurns('a', 50)
  clock.nowMs += MAX_HOLD_MS - 1
  await connectInTurns('a', 1)
  assert.equal(served.length, 1)
  clock.nowMs += 1
  await connectInTurns('a', 1)
  assert.equal(served.length, 1 + NEW_CONNECTIONS_PER_TURN)
  const [other] = connect('b')
  await connectInTurns('a', 1)
  assert.ok(served.includes(other as Connection))
})

test('bounds the queue and every wait while connections arrive without end', async () => {
  const { served, queue, clock, connect } = queuedServer()
  const arrivedMs = new Map<Connection, number>()
  let longestMs = 0
  for (let turn = 0; turn < 10 * MAX_HOLD_MS; turn++) {
    const [connection] = connect('a')
    arrivedMs.set(connection as Connection, clock.nowMs)
    await nextTurn()
    for (const done of served.splice(0))
      longestMs = Math.max(longestMs, clock.nowMs - (arrivedMs.get(done) ?? 0))
    assert.ok(queue.size() <= MAX_HOLD_MS)
    clock.nowMs += 1
  }
  assert.equal(longestMs, MAX_HOLD_MS)
})

test('starts a new hold only after the queue was empty', async () => {
  const { served, queue, clock, connectInTurns } = queuedServer()
  await connectInTurns('a', 50)
  clock.nowMs += MAX_HOLD_MS
  await connectInTurns('a', 2)
  assert.ok(queue.size() > 0)
  const before = served.length
  await nextTurn()
  await connectInTurns('a', 2)
  assert.equal(served.length, before + 3 * NEW_CONNECTIONS_PER_TURN, 'no turn held them')
})

test('spreads a burst over turns, and serves each connection exactly once', async () => {
  const { served, connect } = queuedServer()
  const burst = connect('a', 100)
  for (let turn = 1; turn <= 100 / NEW_CONNECTIONS_PER_TURN + 1; turn++) {
    await nextTurn()
    assert.ok(served.length <= turn * NEW_CONNECTIONS_PER_TURN)
  }
  assert.deepEqual(served, burst)
  assert.ok(burst.every(({ resumed }) => resumed))
})

test('serves a connection of another network in the first turn after the burst', async () => {
  const { served, connect } = queuedServer()
  connect('a', 500)
  const [backend] = connect('b')
  await nextTurn()
  assert.ok(served.includes(backend as Connection))
  assert.ok(served.length <= NEW_CONNECTIONS_PER_TURN)
})

test('skips a connection that ended while it waited', async () => {
  const { served, queue, connect } = queuedServer()
  const burst = connect('a', 2 * NEW_CONNECTIONS_PER_TURN)
  for (const gone of burst.slice(1)) {
    gone.emit('error', new Error('reset by the client'))
    gone.destroy()
  }
  await nextTurn()
  assert.deepEqual(served, burst.slice(0, 1))
  assert.equal(queue.size(), 0)
})

test('does not queue a connection that the caps have rejected', () => {
  const { server, queue } = queuedServer()
  const rejected = new Connection('a')
  rejected.destroy()
  server.emit('connection', rejected)
  assert.equal(queue.size(), 0)
})

test('destroys the waiting connections when the service stops', () => {
  const { queue, connect } = queuedServer()
  const burst = connect('a', 100)
  queue[Symbol.dispose]()
  assert.equal(queue.size(), 0)
  assert.ok(burst.every(({ destroyed }) => destroyed))
})

test('leaves the bytes of a waiting connection in the kernel', () => {
  const { server } = queuedServer()
  assert.equal((server as unknown as { pauseOnConnect: boolean }).pauseOnConnect, true)
})
