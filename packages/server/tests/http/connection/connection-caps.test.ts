import assert from 'node:assert/strict'
import dns from 'node:dns'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { parseTrustedProxies } from '../../../src/http/connection/client-address.ts'
import { type Harness, harness } from '../../../../../tests/harness/harness.ts'

const ALIVE = 'GET /health/alive HTTP/1.1\r\nhost: bond\r\n\r\n'
/** A registration whose body never arrives completely. */
const UNFINISHED =
  'POST /api/v1/devices HTTP/1.1\r\nhost: bond\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{'

const opened: Socket[] = []

/** A service whose clients hang up first. It would wait a second for the next request of each. */
async function capped(options: Parameters<typeof harness>[0]): Promise<Harness> {
  const h = await harness(options)
  const end = h[Symbol.asyncDispose].bind(h)
  return Object.assign(h, {
    [Symbol.asyncDispose]: () => {
      for (const socket of opened.splice(0)) socket.destroy()
      return end()
    },
  })
}

/** A client's side of one connection, with the bytes received. */
class Client {
  readonly socket: Socket
  readonly closed: Promise<unknown>
  #received = ''

  constructor(h: Harness) {
    this.socket = connect(h.running.port, '127.0.0.1')
    opened.push(this.socket)
    this.socket.on('error', () => {})
    this.socket.on('data', (chunk) => (this.#received += String(chunk)))
    this.closed = new Promise((resolve) => this.socket.once('close', resolve))
  }

  /** Sends a request and returns its response, or an empty string if the service closes. */
  async send(request: string): Promise<string> {
    this.#received = ''
    this.socket.write(request)
    while (!this.socket.closed && !isComplete(this.#received))
      await Promise.race([once(this.socket, 'data'), this.closed])
    return this.#received
  }
}

function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0)
  return end >= 0 && (text.startsWith('HTTP/1.1 101') || text.length >= end + 4 + length)
}

const statusOf = (response: string) => Number(response.slice(9, 12))
const countsOf = (h: Harness) => h.running.app.connectionCaps.counts

/** Opens connections that have received a response and are now idle. */
async function idleClients(h: Harness, count: number): Promise<Client[]> {
  const clients: Client[] = []
  for (let index = 0; index < count; index++) {
    const client = new Client(h)
    clients.push(client)
    assert.equal(statusOf(await client.send(ALIVE)), 200, `connection ${index}`)
  }
  return clients
}

/** Opens connections whose unfinished request has reached the service. */
async function unfinishedClients(h: Harness, count: number): Promise<Client[]> {
  const clients: Client[] = []
  for (let index = 0; index < count; index++) {
    const begun = once(h.running.app.server, 'request')
    const client = new Client(h)
    client.socket.write(UNFINISHED)
    clients.push(client)
    await begun
  }
  return clients
}

const createRequest = (h: Harness) =>
  `POST /api/v1/sessions HTTP/1.1\r\nhost: bond\r\nauthorization: Bearer ${h.shop.server}\r\n` +
  'content-type: application/json\r\ncontent-length: 33\r\n\r\n{"workflow":"credit_application"}'

const channelRequest = ({ id, watch_token }: { id: string; watch_token: string }, header = '') =>
  `GET /sessions/${id} HTTP/1.1\r\nhost: bond\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
  `sec-websocket-version: 13\r\nsec-websocket-key: ${Buffer.alloc(16).toString('base64')}\r\n` +
  `sec-websocket-protocol: bonded.v1, watch.${watch_token}\r\n${header}\r\n`

test('closes the longest-idle connection when a network exceeds its cap', async () => {
  await using h = await capped({ connections: { network: 3 } })
  const [first, second] = await idleClients(h, 3)
  assert.equal(statusOf((await second?.send(ALIVE)) ?? ''), 200)
  await idleClients(h, 1)
  await first?.closed
  assert.equal(statusOf((await second?.send(ALIVE)) ?? ''), 200, 'used later than the first')
  const { open, evicted, rejected } = countsOf(h)
  assert.deepEqual([open, evicted, rejected], [3, 1, 0])
})

test('rejects a connection when all connections of its network have unfinished requests', async () => {
  await using h = await capped({ connections: { network: 2 } })
  await unfinishedClients(h, 2)
  const third = new Client(h)
  assert.equal(await third.send(ALIVE), '')
  assert.equal(countsOf(h).rejected, 1)
})

test('accepts new connections while idle keep-alive connections fill the service', async () => {
  await using h = await capped({ connections: { total: 20, reserve: 5 } })
  await idleClients(h, 60)
  assert.equal(countsOf(h).open, 15)
  assert.equal(statusOf(await new Client(h).send(createRequest(h))), 201)
  assert.equal((await h.create()).state, 'pending')
})

test('keeps the idle connection of a backend while clients flood the service', async () => {
  await using h = await capped({ connections: { total: 20, reserve: 5, network: 10 } })
  const backend = new Client(h)
  assert.equal(statusOf(await backend.send(createRequest(h))), 201)
  await idleClients(h, 60)
  assert.equal(statusOf(await backend.send(createRequest(h))), 201)
})

test('does not treat a connection with an invalid credential as a backend', async () => {
  await using h = await capped({ connections: { network: 2 } })
  const imposter = new Client(h)
  const forged = createRequest(h).replace(h.shop.server, `${h.shop.server.slice(0, -1)}!`)
  assert.equal(statusOf(await imposter.send(forged)), 401)
  await idleClients(h, 2)
  await imposter.closed
})

test('rejects channels beyond the part of clients, and still accepts a backend', async () => {
  await using h = await capped({ connections: { total: 8, reserve: 3 } })
  const sessions = []
  for (let index = 0; index < 6; index++) sessions.push(await h.create())
  const statuses = []
  for (const session of sessions) {
    const client = new Client(h)
    statuses.push(statusOf(await client.send(channelRequest(session))))
  }
  assert.deepEqual(statuses, [101, 101, 101, 101, 101, 503])
  assert.equal(statusOf(await new Client(h).send(createRequest(h))), 201)
})

test('closes an unfinished upload when a backend connects and no other connection is idle', async () => {
  await using h = await capped({ connections: { total: 6, reserve: 2 } })
  const [first] = await unfinishedClients(h, 6)
  assert.equal(statusOf(await new Client(h).send(createRequest(h))), 201)
  await first?.closed
  assert.equal(countsOf(h).rejected, 0)
})

test('counts connections from configured backend addresses for no network', async () => {
  await using h = await capped({
    connections: { network: 1, total: 20, reserve: 10 },
    backendAddresses: '127.0.0.0/8',
  })
  const clients = await idleClients(h, 8)
  for (const client of clients) assert.equal(statusOf(await client.send(ALIVE)), 200)
})

test('counts a channel behind a trusted proxy for the network of its client', async () => {
  await using h = await capped({
    connections: { network: 2 },
    trustedProxies: parseTrustedProxies('127.0.0.1') ?? 0,
  })
  const statuses = []
  const addresses = ['192.0.2.1', '192.0.2.1', '::ffff:c000:201', '192.0.2.2']
  for (const address of addresses) {
    const client = new Client(h)
    const request = channelRequest(await h.create(), `x-forwarded-for: ${address}\r\n`)
    statuses.push(statusOf(await client.send(request)))
  }
  assert.deepEqual(statuses, [101, 101, 503, 101])
})

test('closes the idle connection of a client before that of a backend', async () => {
  await using h = await capped({ connections: { idle_seconds: 1, backend_idle_seconds: 50 } })
  const accepted: Socket[] = []
  h.running.app.server.on('connection', (socket) => accepted.push(socket))
  const backend = new Client(h)
  assert.equal(statusOf(await backend.send(createRequest(h))), 201)
  const client = new Client(h)
  assert.match(await client.send(ALIVE), /^keep-alive: timeout=1\r$/im)
  const [ofBackend, ofClient] = accepted
  assert.ok(ofBackend && ofClient)
  // A second more than the header says.
  assert.deepEqual([ofClient.timeout, ofBackend.timeout], [2_000, 51_000])
  // What its timer does. A test cannot move the clock of a socket.
  ofClient.emit('timeout')
  await client.closed
  assert.equal(statusOf(await backend.send(createRequest(h))), 201)
})

test('listens on one address for localhost, so that each connection passes the limits', async ({
  mock,
}) => {
  // A machine with two loopback addresses. Most have 127.0.0.1 and ::1.
  const respond = (
    host: string,
    _options: object,
    done: (error: null, found: object[]) => void,
  ) => {
    const found = host === 'localhost' ? ['127.0.0.1', '127.0.0.2'] : [host]
    const addresses = found.map((address) => ({ address, family: 4 }))
    setImmediate(() => done(null, addresses))
  }
  mock.method(dns, 'lookup', respond as never)
  await using h = await capped({ host: 'localhost' })
  assert.deepEqual(h.running.app.addresses(), [
    { address: '127.0.0.1', family: 'IPv4', port: h.running.port },
  ])
})
