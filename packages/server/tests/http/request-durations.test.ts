import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { noMeter } from '../../../core/src/ports/meter.ts'
import type { RequestId } from '../../../contract/src/index.ts'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import { rawClient } from '../../../../tests/harness/raw-http.ts'
import { requestLogger } from '../../src/http/request-line.ts'

/** What each read of the database seems to take. No real one takes as long, nor a thousandth. */
const READ_MS = 700

interface Recorded {
  readonly route: string
  readonly ms: number
}
const metered: Recorded[] = []
const traced: Recorded[] = []
const h = await harness({
  meter: { ...noMeter, responded: ({ route, ms }) => void metered.push({ route, ms }) },
  tracer: {
    timed: (_id, parts) => parts,
    responded: ({ name, ms }) => void traced.push({ route: name, ms }),
  },
})
after(() => h[Symbol.asyncDispose]())

let reads = 0

/** Moves the clock of durations at each read of the database, until the test ends. */
function slowReads({ mock }: TestContext): void {
  let aheadMs = 0
  const realNow = performance.now.bind(performance)
  mock.method(performance, 'now', () => realNow() + aheadMs)
  const { store } = h.service
  const read = store.read.bind(store)
  mock.method(store, 'read', (unit: Parameters<typeof read>[0]) => {
    aheadMs += READ_MS
    reads++
    return read(unit)
  })
}

/** Runs a request, and checks the duration in its log line, its metric, and its span. */
async function measure(name: string, request: () => Promise<unknown>): Promise<void> {
  metered.length = 0
  traced.length = 0
  reads = 0
  const before = h.lines.length
  const startedMs = performance.now()
  await request()
  // The server logs a response after it has sent it.
  while (metered.length === 0) await new Promise(setImmediate)
  const atMostMs = performance.now() - startedMs
  assert.ok(reads > 0, `${name} reads the database`)
  const [line, ...more] = h.lines.slice(before).map((text) => JSON.parse(text) as { ms: number })
  assert.deepEqual([more.length, metered.length, traced.length], [0, 1, 1], name)
  const [ms, logged] = [metered[0]?.ms ?? Number.NaN, line?.ms ?? Number.NaN]
  assert.ok(ms >= READ_MS && ms <= atMostMs, `${name}: ${ms} of ${READ_MS} to ${atMostMs}`)
  assert.deepEqual([metered[0]?.route, traced[0]], [name, { route: name, ms }])
  assert.equal(logged, Math.round(ms * 10) / 10, name)
}

function open(path: string, watchToken: string, origin = SHOP_ORIGIN): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const protocols = ['bonded.v1', `watch.${watchToken}`, `key.${h.shop.publishable}`]
  const socket = new WebSocket(`ws://127.0.0.1:${h.running.port}${path}`, protocols, { origin })
  socket.once('message', () => {
    socket.terminate()
    resolve()
  })
  socket.once('error', () => resolve())
  return promise
}

test('the duration of each upgrade of the channel is in milliseconds, opened or rejected', async (t) => {
  const session = await h.create()
  slowReads(t)
  const path = `/sessions/${session.id}`
  await measure('channel', () => open(path, session.watch_token))
  await measure('channel', () => open(path, 'bwt_wrong'))
  await measure('channel', () => open(path, session.watch_token, 'https://other.example'))
  // Its handshake fails after the service has admitted it.
  await measure('channel', async () => {
    using client = await rawClient(h.running.port)
    client.send(
      [
        `GET ${path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`,
        `Sec-WebSocket-Version: 99\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n`,
        `Sec-WebSocket-Protocol: bonded.v1, watch.${session.watch_token}\r\n\r\n`,
      ].join(''),
    )
    assert.match(await client.closed, /^HTTP\/1\.1 400 /)
  })
})

test('the duration of each HTTP request is in milliseconds, accepted or rejected', async (t) => {
  const session = await h.create()
  slowReads(t)
  const token = h.shop.server
  await measure('getSession', () => h.get(session))
  await measure('getSession', () => h.api('GET', '/sessions/x', { token }))
  await measure('pollSession', () => h.api('GET', `/sessions/${session.id}?wait_ms=0`, { token }))
  await measure('createSession', () => h.create())
  await measure('deleteSession', () => h.api('DELETE', `/sessions/${session.id}`, { token }))
})

test('a log line, a metric and a span have the same duration, the line to a tenth', () => {
  const durations: unknown[] = []
  const log = { info: ({ ms }: Recorded) => durations.push(ms) }
  const logRequest = requestLogger(log as never, {
    meter: { ...noMeter, responded: ({ ms }) => void durations.push(ms) },
    tracer: { timed: (_id, parts) => parts, responded: ({ ms }) => void durations.push(ms) },
  })
  for (const [ms, logged] of [
    [0, 0],
    [0.04, 0],
    [0.06, 0.1],
    [1_234.56, 1_234.6],
  ] as const) {
    durations.length = 0
    const request = { requestId: 'req_x' as RequestId, method: 'GET', route: '/x', status: 200 }
    logRequest({ ...request, ms }, 'alive')
    assert.deepEqual(durations, [logged, ms, ms])
  }
})
