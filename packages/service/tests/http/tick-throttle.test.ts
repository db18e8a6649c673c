import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { acceptStrictJson } from '../../src/http/json-body.ts'
import { tickThrottle } from '../../src/http/tick-throttle.ts'
import { Refused } from '../../src/http/refused.ts'

test('what comes at once goes on one a turn, in order; none is lost, and the next one after them waits for nobody', async () => {
  const takeTurn = tickThrottle({ maxWaiting: 10 })
  const turns: string[][] = [[]]
  const come = (name: string) =>
    assert.equal(
      takeTurn(() => turns.at(-1)?.push(name)),
      true,
    )
  const go = async (count: number) => {
    for (let at = 0; at < count; at++) turns.push((await turn(), []))
  }
  for (const name of ['a', 'b', 'c']) come(name)
  await turn()
  assert.deepEqual(turns.flat(), ['a', 'b'])
  come('d')
  turns.push([])
  await go(3)
  come('e')
  assert.deepEqual(turns, [['a', 'b'], ['c'], ['d'], [], ['e']])
})

test('whoever finds too many waiting is told so and never goes on; once one has gone on, one may wait again', async () => {
  const takeTurn = tickThrottle({ maxWaiting: 2 })
  const gone: string[] = []
  const come = (name: string) => takeTurn(() => gone.push(name))
  assert.deepEqual(['a', 'b', 'c', 'd'].map(come), [true, true, true, false])
  await turn()
  assert.deepEqual(['e', 'f'].map(come), [true, false])
  for (let at = 0; at < 6; at++) await turn()
  assert.deepEqual(gone, ['a', 'b', 'c', 'e'])
})

/** The body parser, with three routes. Each answers with the turn of the event loop that began it. */
function parser() {
  const app = Fastify() as unknown as FastifyInstance
  acceptStrictJson(app, { trustedProxies: 0, budgetBytes: 64 * 1024 * 1024 })
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
    reply.code(503).send(failure instanceof Refused ? failure.refusal : String(failure)),
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

const begunIn = (answers: readonly { readonly body: object }[]) =>
  answers.map(({ body }) =>
    'turn' in body ? Number(body.turn) : assert.fail(JSON.stringify(body)),
  )

test('of registrations and passports that come at once one is begun in a turn, each is answered, and a small body waits for none of them', async () => {
  const send = parser()
  // Made ready by the first: what fastify does once is no part of this.
  await Promise.all([send('/devices'), send('/claim')])
  const kinds = [
    () => send('/devices'),
    () => send('/evidence', 1_000, { signals: { passport: {} } }),
    () => send('/evidence', 17_000),
  ]
  const large = Array.from({ length: 42 }, (_, at) => kinds[at % 3]?.() ?? assert.fail())
  const small = await send('/claim')
  const turns = begunIn(await Promise.all(large))
  assert.equal(new Set(turns).size, 42)
  const [smallIn = 0] = begunIn([small])
  const before = turns.filter((one) => one < smallIn).length
  assert.ok(before < 10, `the small one was begun after ${before} of the large ones`)
})

test('evidence without a passport that comes at once is begun at once, so that its writes share a commit', async () => {
  const send = parser()
  await send('/evidence')
  const turns = begunIn(
    await Promise.all(Array.from({ length: 16 }, () => send('/evidence', 6_000))),
  )
  assert.equal(new Set(turns).size, 1)
})

test('more large bodies than may wait are refused as overloaded, and all that were taken are answered', async () => {
  const send = parser()
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => send('/devices')))
  const refused = answers.filter(({ status }) => status === 503)
  assert.ok(refused.length > 0)
  for (const { body } of refused)
    assert.deepEqual(body, { reason: 'overloaded', step: 'large_bodies_waiting' })
  assert.ok(answers.every(({ status }) => status === 200 || status === 503))
  assert.equal((await send('/devices')).status, 200)
})
