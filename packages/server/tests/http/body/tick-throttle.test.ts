import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { acceptStrictJson } from '../../../src/http/body/json-body.ts'
import { tickThrottle } from '../../../src/http/body/tick-throttle.ts'
import { Rejected } from '../../../src/http/response/rejected.ts'

test('runs one waiting task in each turn, in order of arrival, and a later task at once', async () => {
  const takeTurn = tickThrottle({ maxWaiting: 10 })
  const turns: string[][] = [[]]
  const submit = (name: string) =>
    assert.equal(
      takeTurn(() => turns.at(-1)?.push(name)),
      true,
    )
  const go = async (count: number) => {
    for (let index = 0; index < count; index++) turns.push((await turn(), []))
  }
  for (const name of ['a', 'b', 'c']) submit(name)
  await turn()
  assert.deepEqual(turns.flat(), ['a', 'b'])
  submit('d')
  turns.push([])
  await go(3)
  submit('e')
  assert.deepEqual(turns, [['a', 'b'], ['c'], ['d'], [], ['e']])
})

test('rejects a task when the queue is full, and accepts one again after a task has run', async () => {
  const takeTurn = tickThrottle({ maxWaiting: 2 })
  const ran: string[] = []
  const submit = (name: string) => takeTurn(() => ran.push(name))
  assert.deepEqual(['a', 'b', 'c', 'd'].map(submit), [true, true, true, false])
  await turn()
  assert.deepEqual(['e', 'f'].map(submit), [true, false])
  for (let index = 0; index < 6; index++) await turn()
  assert.deepEqual(ran, ['a', 'b', 'c', 'e'])
})

/** Installs the parser on three routes that respond with the turn of the event loop they ran in. */
function parser({ budgetBytes = 64 * 1024 * 1024 } = {}) {
  const app = Fastify() as unknown as FastifyInstance
  acceptStrictJson(app, { trustedProxies: 0, budgetBytes })
  let turns = 0
  const count = setImmediate(function next() {
    turns += 1
    setImmediate(next).unref()
  })
  count.unref()
  app.post('/devices', { config: { routeName: 'registerDevice' } }, async () => ({ turn: turns }))
  app.post('/evidence', { config: { routeName: 'fetchEvidence' } }, async () => ({ turn: turns }))
  app.post('/claim', { config: { routeName: 'claimSession' } }, async () => ({ turn: turns }))
  app.setErrorHandler((failure, _request, reply) =>
    reply.code(503).send(failure instanceof Rejected ? failure.rejection : String(failure)),
  )
  return async (url: string, bytes = 0, more: object = {}) => {
    const payload = JSON.stringify({ a: 'x'.repeat(bytes), ...more })
    const sent = {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json' },
      payload,
    } as const
    const { statusCode, body } = await app.inject(sent)
    return { status: statusCode, body: JSON.parse(body) as { turn: number } | { reason: string } }
  }
}

const turnsOf = (responses: readonly { readonly body: object }[]) =>
  responses.map(({ body }) =>
    'turn' in body ? Number(body.turn) : assert.fail(JSON.stringify(body)),
  )

test('starts one registration or passport in each turn, responds to all, and does not delay a small body', async () => {
  const send = parser()
  // The first requests run fastify’s one-time setup, which the test does not count.
  await Promise.all([send('/devices'), send('/claim')])
  const kinds = [
    () => send('/devices'),
    () => send('/evidence', 1_000, { signals: { passport: {} } }),
    () => send('/evidence', 17_000),
  ]
  const large = Array.from({ length: 42 }, (_, index) => kinds[index % 3]?.() ?? assert.fail())
  const small = await send('/claim')
  const turns = turnsOf(await Promise.all(large))
  assert.equal(new Set(turns).size, 42)
  const [smallIn = 0] = turnsOf([small])
  const before = turns.filter((one) => one < smallIn).length
  assert.ok(before < 10, `the small body started after ${before} large ones`)
})

test('starts simultaneous evidence without a passport in one turn, so that its writes share a commit', async () => {
  const send = parser()
  await send('/evidence')
  const turns = turnsOf(
    await Promise.all(Array.from({ length: 16 }, () => send('/evidence', 6_000))),
  )
  assert.equal(new Set(turns).size, 1)
})

test('rejects large bodies beyond the queue as overloaded, and responds to all accepted ones', async () => {
  const send = parser()
  const responses = await Promise.all(Array.from({ length: 1_000 }, () => send('/devices')))
  const rejected = responses.filter(({ status }) => status === 503)
  assert.ok(rejected.length > 0)
  for (const { body } of rejected)
    assert.deepEqual(body, { reason: 'overloaded', step: 'large_bodies_waiting' })
  assert.ok(responses.every(({ status }) => status === 200 || status === 503))
  assert.equal((await send('/devices')).status, 200)
})

test('gives the budget of a body back when its rejection is that too many wait', async () => {
  // A network may use a quarter of it. The 16 MB are enough for one of these bursts.
  const send = parser({ budgetBytes: 64 * 1024 * 1024 })
  for (let burst = 0; burst < 3; burst++) {
    const responses = await Promise.all(
      Array.from({ length: 600 }, () => send('/evidence', 20 * 1024)),
    )
    const reasons = responses.filter(({ status }) => status === 503).map(({ body }) => body)
    assert.ok(reasons.length > 0)
    for (const body of reasons)
      assert.deepEqual(body, { reason: 'overloaded', step: 'large_bodies_waiting' })
  }
})
