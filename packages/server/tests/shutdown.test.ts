import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Channel } from '../src/channel/channel.ts'
import { drainConnections, ShutdownSwitch } from '../src/shutdown.ts'
import { harness } from '../../../tests/harness/harness.ts'
import { rawClient, rawRequest } from '../../../tests/harness/raw-http.ts'

test('gives load balancers the whole time of the drain, with and without channels', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const drained: number[] = []
  const channel = {
    drain: async (ms: number) => void drained.push(ms),
    async [Symbol.asyncDispose]() {},
  } as unknown as Channel
  const shutdown = new ShutdownSwitch()
  const ended = drainConnections({ app, channel, shutdown, drainMs: 10_000 })
  for (let turns = 0; turns < 20; turns++) await turn()
  const passes = async (ms: number) => {
    t.mock.timers.tick(ms)
    for (let turns = 0; turns < 20; turns++) await turn()
  }
  await passes(4_999)
  assert.deepEqual(drained, [], 'channels stay open in the first half')
  await passes(1)
  assert.deepEqual(drained, [5_000], 'and close in the second')
  await passes(4_999)
  assert.equal(app.server.listening, true)
  await passes(1)
  assert.equal(app.server.listening, false)
  await passes(2_000)
  await ended
})

test('serves the first request of a connection that it accepted before it stopped listening', async (t) => {
  const app = Fastify() as unknown as FastifyInstance
  app.get('/version', () => ({ version: '1' }))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const accepted = once(app.server, 'connection')
  const { port } = app.server.address() as AddressInfo
  const open = connect({ host: '127.0.0.1', port })
  await accepted
  // The time that a new connection has for its first request does not end in this test.
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const channel = { async [Symbol.asyncDispose]() {} } as unknown as Channel
  const ended = drainConnections({ app, channel, shutdown: new ShutdownSwitch(), drainMs: 0 })
  while (app.server.listening) await turn()
  open.write('GET /version HTTP/1.1\r\nhost: bond\r\n\r\n')
  const [response] = await Promise.race([
    once(open, 'data'),
    once(open, 'close').then(() => ['the connection was closed']),
  ])
  assert.match(String(response), /^HTTP\/1\.1 200 /)
  t.mock.timers.tick(1_000)
  for (let turns = 0; turns < 20; turns++) await turn()
  t.mock.timers.tick(100)
  await ended
})

test('announces with every response of the drain that it closes the connection', async (t) => {
  await using h = await harness()
  const channel = { async drain() {}, async [Symbol.asyncDispose]() {} } as unknown as Channel
  const authorization = `Bearer ${h.shop.server}`
  const json = { authorization, 'content-type': 'application/json' }
  const body = JSON.stringify({ workflow: 'credit_application' })
  const requests = [
    ['200 OK', rawRequest('GET /version')],
    [
      '201 Created',
      rawRequest('POST /api/v1/sessions', { ...json, 'content-length': body.length }, body),
    ],
    [
      '400 Bad Request',
      rawRequest('POST /api/v1/sessions', { ...json, 'content-length': 2 }, '[]'),
    ],
    ['401 Unauthorized', rawRequest('POST /api/v1/sessions')],
    ['404 Not Found', rawRequest('GET /api/v1/unknown')],
    ['404 Not Found', rawRequest(`GET /api/v1/sessions/sess_${'s'.repeat(22)}`, { authorization })],
    ['405 Method Not Allowed', rawRequest('PUT /version')],
    [
      '413 Payload Too Large',
      rawRequest(
        'POST /api/v1/sessions',
        { ...json, 'content-length': 100_000 },
        ' '.repeat(100_000),
      ),
    ],
  ] as const
  const respond = async (request: string) => {
    using client = await rawClient(h.running.port)
    client.send(request)
    return await client.closed
  }
  // Only the pauses of the drain wait for a timer of the test, which never ends them.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { app } = h.running
  void drainConnections({ app, channel, shutdown: new ShutdownSwitch(), drainMs: 10_000 })
  t.mock.timers.reset()
  for (const [status, request] of requests) {
    const response = await respond(request)
    assert.equal(/^HTTP\/1\.1 (.*)\r/.exec(response)?.[1], status, response)
    assert.match(response, /\r\nconnection: close\r\n/i, response)
  }
})
