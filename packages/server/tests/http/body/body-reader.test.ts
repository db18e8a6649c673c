import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { bodyBudget } from '../../../src/http/body/body-budget.ts'
import { type BodyRequest, bodyReader } from '../../../src/http/body/body-reader.ts'
import { harness } from '../../../../../tests/harness/harness.ts'
import { type RawClient, rawClient, rawRequest } from '../../../../../tests/harness/raw-http.ts'

type Result = Parameters<BodyRequest['done']>[0]

/** A reader behind a plain HTTP server, with a manual clock. */
async function createReader({ budgetBytes = 1_000_000, limitBytes = 10_000 } = {}) {
  let nowMs = 0
  const budget = bodyBudget(budgetBytes)
  const reader = bodyReader(budget, () => nowMs)
  const results: Result[] = []
  const arrivals: (() => void)[] = []
  const server = createServer((message, response) => {
    const network = String(message.headers['x-network'] ?? 'net')
    reader.read(message, {
      limitBytes,
      network,
      done(result) {
        results.push(result)
        response.end('done')
      },
    })
    message.on('data', () => arrivals.shift()?.())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients: RawClient[] = []
  const open = async (headers: Record<string, string | number>, body = '') => {
    const client = await rawClient(port)
    clients.push(client)
    client.send(rawRequest('POST /', headers, body))
    return client
  }
  return {
    budget,
    reader,
    results,
    open,
    /** Resolves when `count` more chunks have arrived. */
    pieces: (count: number) =>
      Promise.all(
        Array.from({ length: count }, () => new Promise<void>((resolve) => arrivals.push(resolve))),
      ),
    pass(ms: number) {
      nowMs += ms
      reader.cutSlow()
    },
    [Symbol.dispose]() {
      for (const client of clients) client[Symbol.dispose]()
      server.closeAllConnections()
      server.close()
    },
  }
}

const failureOf = (result: Result | undefined) =>
  result !== undefined && 'failure' in result ? result.failure : undefined
const reasonOf = (result: Result | undefined) => {
  const failure = failureOf(result)
  return failure === undefined || failure === 'aborted' ? failure : failure.reason
}
const chunked = (pieces: readonly string[]) =>
  `${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`

test('reserves only bytes that have arrived, not a declared length', async () => {
  using s = await createReader()
  const half = s.pieces(2)
  await s.open({ 'Content-Length': 9_000 }, 'x')
  await s.open({ 'Content-Length': 9_000 }, 'xx')
  await half
  assert.equal(s.budget.reserved(), 3)
})

test('returns the whole body, and keeps its bytes reserved until release', async () => {
  using s = await createReader()
  const client = await s.open({ 'Content-Length': 5_000 }, 'a'.repeat(3_000))
  client.send('b'.repeat(2_000))
  await client.until('done')
  const [result] = s.results
  assert.ok(result !== undefined && 'bytes' in result)
  assert.equal(result.bytes.toString(), 'a'.repeat(3_000) + 'b'.repeat(2_000))
  assert.equal(s.budget.reserved(), 5_000)
  result.release()
  assert.equal(s.budget.reserved(), 0)
})

test('rejects a body over the limit by its declared length, or as soon as it exceeds the limit', async () => {
  using s = await createReader({ limitBytes: 100 })
  await (await s.open({ 'Content-Length': 101 })).until('done')
  await (await s.open({ 'Transfer-Encoding': 'chunked' }, chunked(['x'.repeat(101)]))).until('done')
  assert.deepEqual(s.results.map(reasonOf), ['body_too_large', 'body_too_large'])
  assert.equal(s.budget.reserved(), 0)
})

test('rejects bodies beyond the budget as overloaded, and reserves room for other networks', async () => {
  using s = await createReader({ budgetBytes: 4_000 })
  const first = s.pieces(1)
  await s.open({ 'Content-Length': 2_000 }, 'x'.repeat(900))
  await first
  await (await s.open({ 'Content-Length': 200 }, 'x'.repeat(200))).until('done')
  assert.equal(reasonOf(s.results[0]), 'overloaded')
  await (await s.open({ 'Content-Length': 200, 'X-Network': 'other' }, 'x'.repeat(200))).until(
    'done',
  )
  assert.ok(s.results[1] !== undefined && 'bytes' in s.results[1])
})

test('rejects a body slower than 1 KiB/s after 2 s, and reads a faster one', async () => {
  using s = await createReader()
  const arrived = s.pieces(2)
  const slow = await s.open({ 'Content-Length': 9_000 }, 'x'.repeat(1_000))
  await s.open({ 'Content-Length': 9_000 }, 'x'.repeat(4_000))
  await arrived
  s.pass(2_900)
  assert.equal(s.results.length, 0)
  s.pass(200)
  await slow.until('done')
  assert.deepEqual(s.results.map(reasonOf), ['request_timeout'])
  assert.equal(s.reader.size(), 1)
})

test('rejects a body of which nothing arrives within 2 s', async () => {
  using s = await createReader()
  const client = await s.open({ 'Content-Length': 9_000, Expect: '100-continue' })
  await client.until('100 Continue')
  s.pass(2_001)
  await client.until('done')
  assert.equal(reasonOf(s.results[0]), 'request_timeout')
})

test('rejects a body in thousands of tiny chunks, and reads one in packet-sized chunks', async () => {
  using s = await createReader()
  const tiny = await s.open(
    { 'Transfer-Encoding': 'chunked' },
    chunked(Array.from({ length: 2_000 }, () => 'x')),
  )
  await tiny.until('done')
  const packets = Array.from({ length: 16 }, () => 'x'.repeat(536))
  await (await s.open({ 'Transfer-Encoding': 'chunked' }, chunked(packets))).until('done')
  assert.deepEqual(
    [failureOf(s.results[0]), s.results[1] !== undefined && 'bytes' in s.results[1]],
    [{ reason: 'malformed_request', step: 'body_pieces' }, true],
  )
})

test('releases the reservation of an upload whose client disconnects', async () => {
  using s = await createReader()
  const arrived = s.pieces(1)
  const client = await s.open({ 'Content-Length': 9_000 }, 'x'.repeat(100))
  await arrived
  client[Symbol.dispose]()
  while (s.results.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([failureOf(s.results[0]), s.budget.reserved()], ['aborted', 0])
})

test('accepts a body that arrived while the process was paused for longer than the limit', async ({
  mock,
}) => {
  mock.timers.enable({ apis: ['setInterval'] })
  await using h = await harness()
  const body = JSON.stringify({ workflow: 'credit_application' })
  using client = await rawClient(h.running.port)
  const headers = {
    Authorization: `Bearer ${h.shop.server}`,
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    Expect: '100-continue',
  }
  client.send(rawRequest('POST /api/v1/sessions', headers))
  await client.until('100 Continue')
  const resumedMs = performance.now() + 3_000
  mock.method(performance, 'now', () => resumedMs)
  // A process that resumes runs its timers first, and reads its sockets after them.
  setTimeout(() => {
    client.send(body)
    mock.timers.tick(500)
  })
  await client.until('\r\n\r\nHTTP/1.1 201')
})
