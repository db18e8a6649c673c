import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TurnPace } from '../../../src/http/shedding/turn-pace.ts'

/** Turns in which a started request costs so much, and everything else takes so long. */
function run(
  turns: number,
  { requestMs, restMs }: { requestMs: number; restMs: number },
): TurnPace {
  const pace = new TurnPace({ least: 8, most: 32 })
  let nowMs = 0
  for (let turn = 0; turn < turns; turn++) {
    const { requests } = pace
    pace.begin(nowMs)
    nowMs += requests * requestMs
    pace.started(requests, nowMs)
    nowMs += restMs
  }
  return pace
}

test('starts as many requests as take 4 ms, within its limits', () => {
  for (const [requestMs, requests] of [
    [0.05, 32],
    [0.25, 16],
    [2, 8],
  ] as const)
    assert.equal(run(50, { requestMs, restMs: 1 }).requests, requests)
})

test('starts more requests where the rest of a turn is long, such as on a slow disk', () => {
  assert.equal(run(50, { requestMs: 0.25, restMs: 20 }).requests, 32)
})

test('predicts the time of the next turn by that of the last long one', () => {
  const pace = new TurnPace({ least: 8, most: 32 })
  for (const nowMs of [0, 10, 11]) pace.begin(nowMs)
  assert.equal(pace.turnMs, 8)
  pace.pause()
  pace.begin(5_000)
  assert.equal(pace.turnMs, 8)
})
