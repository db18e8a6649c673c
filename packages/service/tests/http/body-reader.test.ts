import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { bodyBudget } from '../../src/http/body-budget.ts'
import { type BodyRequest, bodyReader } from '../../src/http/body-reader.ts'
import { type RawClient, rawClient, rawRequest } from '../harness/raw-http.ts'

type Result = Parameters<BodyRequest['done']>[0]

/** A reader behind a bare HTTP server, with a clock that is moved. */
async function scene({ budgetBytes = 1_000_000, limitBytes = 10_000 } = {}) {
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
    /** Settles when so many more pieces have arrived. */
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

test('a declared length reserves nothing: only bytes that have arrived are counted', async () => {
  using s = await scene()
  const half = s.pieces(2)
  await s.open({ 'Content-Length': 9_000 }, 'x')
  await s.open({ 'Content-Length': 9_000 }, 'xx')
  await half
  assert.equal(s.budget.reserved(), 3)
})

test('a body is whole and its bytes stay reserved until they are released', async () => {
  using s = await scene()
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

test('a body over the limit is rejected before it is read where its length says so, and once it is too long where not', async () => {
  using s = await scene({ limitBytes: 100 })
  await (await s.open({ 'Content-Length': 101 })).until('done')
  await (await s.open({ 'Transfer-Encoding': 'chunked' }, chunked(['x'.repeat(101)]))).until('done')
  assert.deepEqual(s.results.map(reasonOf), ['body_too_large', 'body_too_large'])
  assert.equal(s.budget.reserved(), 0)
})

test('bodies beyond the budget are rejected as overloaded, and one network leaves room for others', async () => {
  using s = await scene({ budgetBytes: 4_000 })
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

test('a body that stays below 1 KiB a second after two seconds is rejected, and a faster one is not', async () => {
  using s = await scene()
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

test('a body of which nothing arrives is rejected after two seconds', async () => {
  using s = await scene()
  const client = await s.open({ 'Content-Length': 9_000, Expect: '100-continue' })
  await client.until('100 Continue')
  s.pass(2_001)
  await client.until('done')
  assert.equal(reasonOf(s.results[0]), 'request_timeout')
})

test('a body in thousands of tiny chunks is rejected, and one in chunks of a packet is read', async () => {
  using s = await scene()
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

test('an upload whose client goes away returns what it had reserved', async () => {
  using s = await scene()
  const arrived = s.pieces(1)
  const client = await s.open({ 'Content-Length': 9_000 }, 'x'.repeat(100))
  await arrived
  client[Symbol.dispose]()
  while (s.results.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([failureOf(s.results[0]), s.budget.reserved()], ['aborted', 0])
})
