import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ATTEMPT_DELAYS_MS,
  type AttemptResult,
  judgeAttempt,
  judgeEndpoint,
  MAX_ATTEMPTS,
  placesOf,
} from '../../src/domain/webhooks.ts'

const NOW = 1_000_000
const failed: AttemptResult = { status: 500, body: '' }
const ok: AttemptResult = { status: 204, body: '' }
const current = (...results: AttemptResult[]) =>
  results.map((result) => ({ result, isLate: false }))
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
  assert.equal(judgeEndpoint(0, current(busy), NOW).pausedUntil, NOW + 60_000)
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
    standing = judgeEndpoint(standing.failures, current(failed), NOW)
    pauses.push(Math.max(0, standing.pausedUntil - NOW) / 1_000)
  }
  assert.deepEqual(pauses, [0, 0, 0, 0, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600])
  assert.deepEqual(judgeEndpoint(standing.failures, current(ok), NOW), {
    failures: 0,
    pausedUntil: 0,
  })
})

test('attempts at once count as one failure, and as none if one of them succeeded', () => {
  assert.equal(judgeEndpoint(0, current(failed, failed, failed), NOW).failures, 1)
  assert.equal(judgeEndpoint(7, current(failed, ok, failed), NOW).failures, 0)
})

test('the failure of a late attempt changes nothing, and its success closes the breaker', () => {
  const late = (result: AttemptResult) => [{ result, isLate: true }]
  assert.deepEqual(judgeEndpoint(4, late({ error: 'timed_out' }), NOW), {
    failures: 4,
    pausedUntil: 0,
  })
  assert.equal(judgeEndpoint(4, late(ok), NOW).failures, 0)
})

test('an endpoint has 32 places, and one while it fails', () => {
  assert.equal(placesOf(0, MAX_ATTEMPTS), 32)
  assert.equal(placesOf(1, MAX_ATTEMPTS), 1)
})

test('300 endpoints that take all places they get leave some for the next one', () => {
  let free = MAX_ATTEMPTS
  for (let endpoints = 0; endpoints < 300; endpoints++) free -= placesOf(0, free)
  assert.ok(free > 0)
  assert.ok(placesOf(0, free) > 0)
})
