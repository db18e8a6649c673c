import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ATTEMPT_DELAYS_MS,
  type AttemptResult,
  batchSize,
  judgeAttempt,
  judgeEndpoint,
} from '../../src/domain/webhooks.ts'

const NOW = 1_000_000
const failed: AttemptResult = { status: 500, body: '' }
const judge = (result: AttemptResult, attempt: number, random = 0.5) =>
  judgeAttempt(result, { attempt, now: NOW, random })

test('ten attempts take 75 hours and 35 minutes', () => {
  assert.equal(ATTEMPT_DELAYS_MS.length, 10)
  const minutes = ATTEMPT_DELAYS_MS.reduce((sum, ms) => sum + ms, 0) / 60_000
  assert.equal(Math.floor(minutes), 75 * 60 + 35)
})

test('a failed attempt is followed by the next of the schedule, and the tenth by none', () => {
  for (let attempt = 1; attempt < 10; attempt++)
    assert.deepEqual(judge(failed, attempt), {
      state: 'pending',
      dueAt: NOW + (ATTEMPT_DELAYS_MS[attempt] ?? 0),
    })
  assert.deepEqual(judge(failed, 10), { state: 'failed', dueAt: null })
})

test('jitter moves an attempt by at most a tenth', () => {
  assert.equal(judge(failed, 2, 0).dueAt, NOW + 270_000)
  assert.equal(judge(failed, 2, 1).dueAt, NOW + 330_000)
})

test('only a status of 200 to 299 is a success', () => {
  for (const status of [200, 204, 299])
    assert.equal(judge({ status, body: '' }, 1).state, 'delivered')
  for (const status of [100, 199, 301, 302, 304, 307, 400, 404, 429, 500])
    assert.equal(judge({ status, body: '' }, 1).state, 'pending')
  assert.equal(judge({ error: 'timed_out' }, 1).state, 'pending')
})

test('Retry-After delays the delivery and the endpoint, up to a day', () => {
  const busy: AttemptResult = { status: 429, body: '', retryAfterMs: 60_000 }
  assert.equal(judge(busy, 1).dueAt, NOW + 60_000)
  assert.equal(judgeEndpoint(0, [busy], NOW).pausedUntil, NOW + 60_000)
  const rude: AttemptResult = { status: 503, body: '', retryAfterMs: 1e12 }
  assert.equal(judge(rude, 1).dueAt, NOW + 24 * 60 * 60_000)
})

test('410 is a failure: whether the endpoint is disabled depends on its URL by then', () => {
  assert.equal(judge({ status: 410, body: '' }, 1).state, 'pending')
})

test('five failures in a row open the breaker, probes lengthen it, and a success closes it', () => {
  const pauses = []
  let standing = { failures: 0, pausedUntil: 0 }
  for (let failures = 1; failures <= 13; failures++) {
    standing = judgeEndpoint(standing.failures, [failed], NOW)
    pauses.push(Math.max(0, standing.pausedUntil - NOW) / 1_000)
  }
  assert.deepEqual(pauses, [0, 0, 0, 0, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600])
  assert.equal(batchSize(standing.failures, 8), 1)
  assert.deepEqual(judgeEndpoint(standing.failures, [{ status: 200, body: '' }], NOW), {
    failures: 0,
    pausedUntil: 0,
  })
  assert.equal(batchSize(0, 8), 8)
})

test('attempts at once count as one failure, and as none if one of them succeeded', () => {
  const ok: AttemptResult = { status: 204, body: '' }
  assert.equal(judgeEndpoint(0, [failed, failed, failed], NOW).failures, 1)
  assert.equal(judgeEndpoint(7, [failed, ok, failed], NOW).failures, 0)
})
