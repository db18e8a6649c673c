import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { BODY_LIMIT_BYTES, LARGE_BODY_LIMIT_BYTES } from '@bonded/contract'
import Fastify, { type FastifyInstance } from 'fastify'
import { acceptStrictJson } from '../src/http/json-body.ts'
import { oneATurn } from '../src/http/one-a-turn.ts'
import { Refused } from '../src/http/refused.ts'

test('what comes at once goes on one a turn, in order; none is lost, and the next one after them waits for nobody', async () => {
  const takeTurn = oneATurn({ maxWaiting: 10 })
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
  const takeTurn = oneATurn({ maxWaiting: 2 })
  const gone: string[] = []
  const come = (name: string) => takeTurn(() => gone.push(name))
  assert.deepEqual(['a', 'b', 'c', 'd'].map(come), [true, true, true, false])
  await turn()
  assert.deepEqual(['e', 'f'].map(come), [true, false])
  for (let at = 0; at < 6; at++) await turn()
  assert.deepEqual(gone, ['a', 'b', 'c', 'e'])
})

/** The body parser, with a route for large bodies and one for small ones. Each answers with the turn of the event loop that began it. */
function parser() {
  const app = Fastify() as unknown as FastifyInstance
  acceptStrictJson(app)
  let turns = 0
  const count = setImmediate(function next() {
    turns += 1
    setImmediate(next).unref()
  })
  count.unref()
  app.post('/large', { bodyLimit: LARGE_BODY_LIMIT_BYTES }, async () => ({ turn: turns }))
  app.post('/small', { bodyLimit: BODY_LIMIT_BYTES }, async () => ({ turn: turns }))
  app.setErrorHandler((failure, _request, reply) => reply.code(503).send(failure instanceof Refused ? failure.refusal : String(failure)))
  return async (url: string) => {
    const sent = { method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: '{"a":1}' } as const
    const { statusCode, body } = await app.inject(sent)
    return { status: statusCode, body: JSON.parse(body) as { turn: number } | { reason: string } }
  }
}

test('of registrations and evidence that come at once one is begun in a turn, each is answered, and a small body waits for none of them', async () => {
  const send = parser()
  // Made ready by the first: what fastify does once is no part of this.
  await Promise.all([send('/large'), send('/small')])
  const large = Array.from({ length: 40 }, () => send('/large'))
  const small = await send('/small')
  const answers = await Promise.all(large)
  const begunIn = answers.map(({ body }) => ('turn' in body ? body.turn : assert.fail(JSON.stringify(body))))
  assert.equal(new Set(begunIn).size, 40)
  const { turn: smallIn } = small.body as { turn: number }
  const before = begunIn.filter((one) => one < smallIn).length
  assert.ok(before < 10, `the small one was begun after ${before} of the large ones`)
})

test('more large bodies than may wait are refused as overloaded, and all that were taken are answered', async () => {
  const send = parser()
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => send('/large')))
  const refused = answers.filter(({ status }) => status === 503)
  assert.ok(refused.length > 0)
  for (const { body } of refused) assert.deepEqual(body, { reason: 'overloaded', step: 'large_bodies_waiting' })
  assert.ok(answers.every(({ status }) => status === 200 || status === 503))
  assert.equal((await send('/large')).status, 200)
})
