import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atMost } from '../src/adapters/proofs/at-most.ts'
import { accept } from '../src/domain/refusal.ts'

/** Work that ends when it is told to. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { end: resolve, work: () => promise.then(() => accept('done')) }
}

test('so many run at once, so many wait in order, and whoever comes after them is told that it is too much', async () => {
  const inTurn = atMost({ running: 2, waiting: 1 })
  const pieces = [held(), held(), held(), held()] as const
  const answers = pieces.map(({ work }) => inTurn(work))
  assert.deepEqual(await answers[3], { ok: false, refusal: { reason: 'overloaded', step: 'registrations_waiting' } })
  pieces[1].end()
  assert.deepEqual(await answers[1], accept('done'))
  // The third runs now, so one may wait again.
  const next = inTurn(async () => accept('next'))
  for (const piece of pieces) piece.end()
  assert.deepEqual(await Promise.all([answers[0], answers[2], next]), [accept('done'), accept('done'), accept('next')])
})

test('a piece of work that throws gives its place to the next', async () => {
  const inTurn = atMost({ running: 1, waiting: 5 })
  const failing = inTurn(async () => Promise.reject(new Error('broken')))
  const next = inTurn(async () => accept('next'))
  await assert.rejects(failing, /broken/)
  assert.deepEqual(await next, accept('next'))
})
