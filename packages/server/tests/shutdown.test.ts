import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Channel } from '../src/channel/channel.ts'
import { drainConnections, ShutdownSwitch } from '../src/shutdown.ts'

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
