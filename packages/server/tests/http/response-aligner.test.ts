import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_HELD_RESPONSES, responseAligner } from '../../src/http/response/response-timing.ts'

test('resolves a response at the next step of its grid, counted from its own arrival', async () => {
  let nowMs = 100
  const aligner = responseAligner(() => nowMs)
  const responded: string[] = []
  const hold = (name: string, arrivedMs: number) => {
    const due = aligner.align('session_not_found', arrivedMs)
    assert.ok(due instanceof Promise)
    return due.then(() => responded.push(name))
  }
  const later = hold('arrived at 99.5, due at 102.5', 99.5)
  const sooner = hold('arrived at 97.5, due at 100.5', 97.5)
  nowMs = 100.5
  await sooner
  assert.deepEqual(responded, ['arrived at 97.5, due at 100.5'])
  nowMs = 102.5
  await later
  assert.equal(aligner.held(), 0)
})

test('does not hold a rejection without a grid, nor more responses than the maximum', async () => {
  let nowMs = 0
  const aligner = responseAligner(() => nowMs)
  assert.equal(aligner.align('credential_invalid', 0), undefined)
  const held = Array.from({ length: MAX_HELD_RESPONSES }, () =>
    aligner.align('assertion_invalid', 0),
  )
  assert.equal(aligner.align('assertion_invalid', 0), 'full')
  nowMs = 10
  for (const due of held) await due
  assert.equal(aligner.held(), 0)
})
