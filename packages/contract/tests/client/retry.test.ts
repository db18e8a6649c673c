import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  backoffMs,
  isRetryableStatus,
  nextDelayMs,
  parseRetryAfter,
  type RetryPolicy,
  spreadRetryAfterMs,
  withRetry,
} from '@bonded/contract'
import { fc } from '../../../../tests/random.ts'

const POLICY: RetryPolicy = {
  maxAttempts: 4,
  backoff: { firstMs: 200, factor: 2, longestMs: 2_000, jitter: 1 },
  totalMs: 8_000,
}
const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

/** A clock that moves by every sleep, and an act that fails so many times. */
function scene(failures: number, retryAfterMs?: number) {
  let nowMs = 1_000
  const slept: number[] = []
  const attempts: [attempt: number, elapsedMs: number][] = []
  const run = (policy: RetryPolicy) =>
    withRetry(
      async (attempt, elapsedMs) => {
        attempts.push([attempt, elapsedMs])
        if (attempt <= failures) throw new Error(`failure ${attempt}`)
        return 'done'
      },
      {
        policy,
        now: () => nowMs,
        sleep: async (ms) => {
          slept.push(ms)
          nowMs += ms
        },
        random: () => 0.5,
        retryable: () => ({ retryAfterMs }),
      },
    )
  return { run, slept, attempts }
}

test('retries after jittered delays and passes the attempt and the elapsed time', async () => {
  const { run, slept, attempts } = scene(2)
  assert.equal(await run(POLICY), 'done')
  assert.deepEqual(slept, [100, 200])
  assert.deepEqual(attempts, [
    [1, 0],
    [2, 100],
    [3, 300],
  ])
})

test('throws the last failure after the last attempt', async () => {
  const { run, attempts } = scene(9)
  await assert.rejects(run(POLICY), /failure 4/)
  assert.equal(attempts.length, 4)
})

test('waits as long as the service asks, and a random part of a half longer', async () => {
  const { run, slept } = scene(1, 3_000)
  await run(POLICY)
  assert.deepEqual(slept, [3_750])
})

test('never returns before the time that the service asks for, and spreads the clients', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4_000 }), fraction, (retryAfterMs, random) => {
      const failed = { attempt: 1, elapsedMs: 0, retryAfterMs }
      const delayMs = nextDelayMs(POLICY, failed, () => random) ?? Number.NaN
      assert.ok(delayMs >= retryAfterMs && delayMs <= retryAfterMs * 1.5 + 200, `${delayMs} ms`)
    }),
  )
  assert.equal(
    spreadRetryAfterMs(1_000, () => 0),
    1_000,
  )
  assert.equal(
    spreadRetryAfterMs(1_000, () => 0.5),
    1_250,
  )
})

test('gives up at once when the requested wait is longer than the policy allows', async () => {
  const { run, slept } = scene(1, 11_000)
  await assert.rejects(
    run({ ...POLICY, totalMs: 60_000, longestRetryAfterMs: 10_000 }),
    /failure 1/,
  )
  assert.deepEqual(slept, [])
})

test('does not retry a failure that a retry cannot help', async () => {
  let attempts = 0
  await assert.rejects(
    withRetry(
      async () => {
        attempts++
        throw new Error('rejected')
      },
      { policy: POLICY, now: () => 0, sleep: async () => {}, retryable: () => undefined },
    ),
    /rejected/,
  )
  assert.equal(attempts, 1)
})

test('keeps every delay within a window that doubles up to its limit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fraction, (attempt, drawn) => {
      const delayMs = backoffMs(POLICY.backoff, attempt, () => drawn)
      assert.ok(delayMs >= 0 && delayMs < Math.min(2_000, 200 * 2 ** (attempt - 1)))
    }),
  )
})

test('keeps the fixed share of a delay whose jitter is a part of it', () => {
  const backoff = { firstMs: 300, factor: 2, longestMs: 5_000, jitter: 0.5 }
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fraction, (attempt, drawn) => {
      const windowMs = Math.min(5_000, 300 * 2 ** (attempt - 1))
      const delayMs = backoffMs(backoff, attempt, () => drawn)
      // The largest fraction below 1 rounds up to the whole window.
      assert.ok(delayMs >= windowMs / 2 && delayMs <= windowMs)
    }),
  )
})

test('draws no random number without jitter', () => {
  const backoff = { firstMs: 250, factor: 4, longestMs: 3_000, jitter: 0 }
  const draw = () => assert.fail('drew a random number')
  assert.deepEqual(
    [1, 2, 3, 4].map((attempt) => backoffMs(backoff, attempt, draw)),
    [250, 1_000, 3_000, 3_000],
  )
})

test('never plans an attempt after the total time', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.nat(20_000),
      fc.option(fc.nat(100_000), { nil: undefined }),
      (attempt, elapsedMs, retryAfterMs) => {
        const delayMs = nextDelayMs(POLICY, { attempt, elapsedMs, retryAfterMs }, () => 0.5)
        if (delayMs === undefined) return
        assert.ok(attempt < 4 && elapsedMs + delayMs < 8_000 && delayMs >= (retryAfterMs ?? 0))
      },
    ),
  )
})

test('retries 429 and failures of the service, and no other status', () => {
  assert.deepEqual(
    [200, 302, 400, 401, 404, 408, 429, 499, 500, 503].filter(isRetryableStatus),
    [429, 500, 503],
  )
})

test('reads Retry-After as seconds, or as a date where the time of day is known', () => {
  const now = Date.parse('2026-11-21T09:30:00.000Z')
  assert.equal(parseRetryAfter('2', now), 2_000)
  assert.equal(parseRetryAfter('2'), 2_000)
  assert.equal(parseRetryAfter('Sat, 21 Nov 2026 09:30:05 GMT', now), 5_000)
  assert.equal(parseRetryAfter('Sat, 21 Nov 2026 09:00:00 GMT', now), 0)
  assert.equal(parseRetryAfter('Sat, 21 Nov 2026 09:30:05 GMT'), undefined)
  assert.equal(parseRetryAfter('in a while', now), undefined)
  assert.equal(parseRetryAfter('', now), undefined)
  assert.equal(parseRetryAfter(null, now), undefined)
})
