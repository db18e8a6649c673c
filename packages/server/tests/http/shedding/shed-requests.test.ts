import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as send,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ErrorResponse, type RequestId, type SessionId, type TenantId } from '@bonded/contract'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { Value } from 'typebox/value'
import { overloadEpisodes, QUIET_MS } from '../../../src/http/shedding/overload-episodes.ts'
import type { AdmissionQueue } from '../../../src/http/shedding/admission-queue.ts'
import { rejectOverloaded } from '../../../src/http/shedding/shed-response.ts'
import { shedRequests } from '../../../src/http/shedding/shed-requests.ts'
import { PLACES } from '../../../src/http/shedding/waiting-requests.ts'
import { noMeter, type ShedPriority } from '../../../../core/src/ports/meter.ts'
import { harness } from '../../../../../tests/harness/harness.ts'

function logger() {
  const lines: Record<string, unknown>[] = []
  const log = pino(
    { level: 'info' },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  )
  return { lines, log }
}

/** A server that rejects every request as the overloaded service does. */
async function rejecting(priority: ShedPriority) {
  const server = createServer((request, response) =>
    rejectOverloaded(
      { request, response, priority },
      { requestId: 'req_1' as RequestId, headers: { 'cache-control': 'no-store' } },
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    async post(body: string, headers: Record<string, string> = {}) {
      const request = send({ host: '127.0.0.1', port, method: 'POST', agent, headers })
      request.end(body)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      return { response, text: Buffer.concat(chunks).toString('utf8'), socket: request.socket }
    },
    [Symbol.dispose]() {
      agent.destroy()
      server.close()
    },
  }
}

test('responds with 503 overloaded in the error shape, with Retry-After and the request id', async () => {
  using server = await rejecting('new')
  const { response, text } = await server.post('{}', { 'content-length': '2' })
  assert.equal(response.statusCode, 503)
  const body = JSON.parse(text) as ErrorResponse
  assert.ok(Value.Check(ErrorResponse, body))
  assert.equal(body.error.reason, 'overloaded')
  assert.equal(body.error.code, 'unavailable')
  assert.equal(response.headers['x-request-id'], 'req_1')
  assert.equal(response.headers['cache-control'], 'no-store')
  assert.match(response.headers['retry-after'] ?? '', /^[1-5]$/)
})

test('spreads the time in Retry-After, and names a shorter one for begun sessions', async () => {
  for (const [priority, longest] of [
    ['begun', 2],
    ['new', 5],
  ] as const) {
    using server = await rejecting(priority)
    const seconds = new Set<number>()
    for (let index = 0; index < 100; index++)
      seconds.add(Number((await server.post('')).response.headers['retry-after']))
    assert.equal(Math.max(...seconds), longest)
    assert.equal(Math.min(...seconds), 1)
  }
})

test('keeps the connection of a rejected request with a short body', async () => {
  using server = await rejecting('new')
  const first = await server.post('x'.repeat(1_000), { 'content-length': '1000' })
  const second = await server.post('{}', { 'content-length': '2' })
  assert.equal(first.socket, second.socket)
})

test('closes the connection of a rejected request with a body of unknown length', async () => {
  // RFC 9112, section 6.1: names of codings are case-insensitive, and several may be applied.
  for (const coding of ['chunked', 'Chunked', 'gzip, chunked']) {
    using server = await rejecting('new')
    const { response } = await server.post('x'.repeat(100_000), { 'transfer-encoding': coding })
    assert.equal(response.headers.connection, 'close', coding)
  }
})

test('logs an overload with one line at its start and one at its end', ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const { lines, log } = logger()
  let now = 0
  using episodes = overloadEpisodes(log, () => now)
  for (let index = 0; index < 1_000; index++) {
    episodes.count(index % 2 === 0 ? 'begun' : 'new', 'within')
    now += 10
    mock.timers.tick(10)
  }
  assert.equal(lines.length, 1)
  mock.timers.tick(2 * QUIET_MS)
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['overload: requests are rejected', 'overload ended'],
  )
  assert.deepEqual(lines[1]?.rejected, { begun: 500, new: 500, within: 1_000 })
  assert.equal(lines[1]?.ms, 9_990)
  episodes.count('new', 'within')
  assert.equal(lines.length, 3)
})

/** A server that gets more requests in one turn than may wait, and what became of them. */
function flooded(
  h: Awaited<ReturnType<typeof harness>>,
  request: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
) {
  const { lines, log } = logger()
  const shed: string[] = []
  const meter = { ...noMeter, shed: (...labels: string[]) => shed.push(labels.join(' ')) }
  const server = createServer()
  let queue: AdmissionQueue | undefined
  const decorate = (_name: string, decoration: AdmissionQueue) => (queue = decoration)
  const app = { server, decorate, addHook() {} } as unknown as FastifyInstance
  const responses: Record<string, string>[] = []
  shedRequests(app, { service: { ...h.service, meter }, log })
  const response = {
    writeHead: (_status: number, headers: Record<string, string>) => responses.push(headers),
    end() {},
  }
  const socket = { remoteAddress: '192.0.2.1', destroyed: false }
  const flood = () => {
    for (let index = 0; index < PLACES + 100; index++)
      server.emit(
        'request',
        { method: 'POST', complete: true, socket, ...request } as unknown as IncomingMessage,
        response as unknown as ServerResponse,
      )
  }
  return { queue: queue as unknown as AdmissionQueue, flood, lines, shed, responses }
}

test('rejects requests beyond the most that may wait, counts them, and logs no line for each', async () => {
  await using h = await harness()
  const headers = { origin: 'https://other.example' }
  const { queue, flood, lines, shed, responses } = flooded(h, {
    url: '/api/v1/sessions',
    headers,
  })
  using _ = queue
  flood()
  assert.equal(queue.size(), PLACES)
  assert.equal(responses.length, 100)
  assert.deepEqual(new Set(shed), new Set(['new unknown']))
  assert.equal(lines.length, 1)
  assert.equal(responses[0]?.['access-control-allow-origin'], undefined)
  assert.equal(responses[0]?.['x-content-type-options'], 'nosniff')
})

test('knows a phone whose session another node has changed', async () => {
  await using h = await harness()
  const token = `dt_0123456789_${'x'.repeat(43)}`
  const headers = { authorization: `Bearer ${token}` }
  const { queue, flood, shed } = flooded(h, { url: '/api/v1/attestations', headers })
  using _ = queue
  const tenantId = 'ten_a' as TenantId
  const sessionId = `sess_${'s'.repeat(22)}` as SessionId
  const tokenHash = h.service.keys.digest(token)
  h.service.bus.publish({ sessionId, seq: 2, callers: { tenantId, tokenHash } })
  flood()
  assert.deepEqual(new Set(shed), new Set(['begun above']))
})
