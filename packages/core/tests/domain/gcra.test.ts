import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFor } from '../../../../tests/random.ts'
import { type Bucket, spend } from '../../src/domain/gcra.ts'

const LIMIT = { burst: 5, intervalUs: 1_000 }
const full = (bucket: Partial<Bucket> = {}): Bucket => ({
  limit: LIMIT,
  fullAtUs: 0,
  keep: 0,
  ...bucket,
})

/** Takes until the bucket rejects. @returns how many units it granted, and its last answer */
function drain(bucket: Bucket, nowUs: number) {
  for (let granted = 0, { fullAtUs } = bucket; ; granted++) {
    const spending = spend({ ...bucket, fullAtUs }, nowUs)
    if (!spending.granted) return { granted, last: spending }
    fullAtUs = spending.fullAtUs
  }
}

test('a full bucket grants its burst at once, and not one more', () => {
  const { granted, last } = drain(full(), 1_000_000)
  assert.equal(granted, LIMIT.burst)
  assert.deepEqual([last.remaining, last.waitMs], [0, LIMIT.intervalUs / 1_000])
})

test('an empty bucket grants one unit after each interval, and none a microsecond earlier', () => {
  const { fullAtUs } = drain(full(), 0).last
  for (let units = 1; units <= LIMIT.burst; units++) {
    const at = units * LIMIT.intervalUs
    assert.equal(drain(full({ fullAtUs }), at - 1).granted, units - 1)
    assert.equal(drain(full({ fullAtUs }), at).granted, units)
  }
  assert.equal(drain(full({ fullAtUs }), 1_000_000).granted, LIMIT.burst)
})

test('a rejection takes nothing, however often it is repeated', () => {
  const { fullAtUs } = drain(full(), 0).last
  for (let nowUs = 0; nowUs < LIMIT.intervalUs; nowUs++) {
    const spending = spend(full({ fullAtUs }), nowUs)
    assert.deepEqual([spending.granted, spending.fullAtUs], [false, fullAtUs])
  }
})

test('in any history it grants exactly what a bucket of the burst and the rate has', () => {
  const random = randomFor('histories of a bucket')
  for (let history = 0; history < 50; history++) {
    const limit = { burst: 1 + random(8), intervalUs: 1 + random(500) }
    let fullAtUs = 0
    let nowUs = 1_000_000
    let storedUs = limit.burst * limit.intervalUs
    for (let take = 0; take < 100; take++) {
      const passedUs = random(2 * limit.intervalUs)
      nowUs += passedUs
      storedUs = Math.min(storedUs + passedUs, limit.burst * limit.intervalUs)
      const spending = spend(full({ limit, fullAtUs }), nowUs)
      assert.equal(spending.granted, storedUs >= limit.intervalUs, `history ${history}`)
      if (spending.granted) storedUs -= limit.intervalUs
      assert.equal(spending.remaining, Math.floor(storedUs / limit.intervalUs))
      fullAtUs = spending.fullAtUs
    }
  }
})

test('the wait that it returns is the shortest after which one more unit can be taken', () => {
  const random = randomFor('waits for a bucket')
  for (let history = 0; history < 50; history++) {
    const limit = { burst: 2 + random(8), intervalUs: 2 + random(500) }
    const keep = random(limit.burst)
    const bucket = full({ limit, keep, fullAtUs: 1_000_000 + random(10 * limit.intervalUs) })
    const { remaining, waitMs, fullAtUs } = spend(bucket, 1_000_000)
    const after = (us: number) => drain({ ...bucket, fullAtUs }, 1_000_000 + us).granted
    assert.equal(after(0), remaining)
    assert.equal(after(Math.round(waitMs * 1_000)), remaining + 1)
    assert.equal(after(Math.round(waitMs * 1_000) - 1), remaining)
  }
})

test('a caller that must leave units in the bucket cannot take them, and another one can', () => {
  const { granted, last } = drain(full({ keep: 2 }), 0)
  assert.equal(granted, 3)
  assert.equal(drain(full({ fullAtUs: last.fullAtUs }), 0).granted, 2)
  assert.equal(drain(full({ keep: LIMIT.burst }), 0).granted, 0)
})

test('a clock that was set back, or a smaller limit, costs at most one whole bucket', () => {
  const wholeUs = LIMIT.burst * LIMIT.intervalUs
  const spending = spend(full({ fullAtUs: 1e15 }), 1_000)
  assert.deepEqual([spending.granted, spending.waitMs], [false, LIMIT.intervalUs / 1_000])
  assert.equal(spending.fullAtUs, 1_000 + wholeUs)
})

test('a bucket that several nodes overdrew pays its debt back, up to the largest debt', () => {
  const wholeUs = LIMIT.burst * LIMIT.intervalUs
  const overdrawn = full({ fullAtUs: 1e15, maxDebt: 3 })
  const { waitMs, fullAtUs } = spend(overdrawn, 0)
  assert.equal(fullAtUs, 3 * wholeUs)
  assert.equal(waitMs, (2 * wholeUs + LIMIT.intervalUs) / 1_000)
  assert.equal(spend({ ...overdrawn, fullAtUs }, waitMs * 1_000).granted, true)
})
