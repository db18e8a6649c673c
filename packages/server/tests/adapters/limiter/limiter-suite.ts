import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Limit, parseLimits, USUAL_LIMITS } from '../../../../core/src/domain/limits.ts'
import type { Clock } from '../../../../core/src/ports/clock.ts'
import type { Limiter } from '../../../../core/src/ports/limiter.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'

/** Makes an empty limiter on this clock. */
export type MakeLimiter = (clock: Pick<Clock, 'now'>) => Limiter

/** The contract of the port, which every adapter must pass. */
export function limiterSuite(adapter: string, make: MakeLimiter): void {
  const scene = () => {
    const clock = new TestClock()
    return { clock, limiter: make(clock) }
  }
  const grantedOf = (limiter: Limiter, limit: Limit, key: string, calls: number) => {
    let granted = 0
    for (let call = 0; call < calls; call++)
      granted += limiter.take([{ limit, key }]).granted ? 1 : 0
    return granted
  }
  const { create, device, evidence } = USUAL_LIMITS

  test(`${adapter}: grants the burst of a full bucket at once, then one call per interval`, () => {
    const { clock, limiter } = scene()
    assert.equal(grantedOf(limiter, create, 'a', 150), 100)
    clock.advance(99)
    assert.equal(grantedOf(limiter, create, 'a', 2), 0)
    clock.advance(1)
    assert.equal(grantedOf(limiter, create, 'a', 2), 1)
    clock.advance(1_000)
    assert.equal(grantedOf(limiter, create, 'a', 20), 10)
  })

  test(`${adapter}: never grants more than the burst after a long pause`, () => {
    const { clock, limiter } = scene()
    limiter.take([{ limit: create, key: 'a' }])
    clock.advance(24 * 60 * 60_000)
    assert.equal(grantedOf(limiter, create, 'a', 200), 100)
  })

  test(`${adapter}: counts keys and limits separately`, () => {
    const { limiter } = scene()
    assert.equal(grantedOf(limiter, device, 'a', 30), 20)
    assert.equal(grantedOf(limiter, device, 'b', 30), 20)
    assert.equal(grantedOf(limiter, evidence, 'a', 30), 6)
  })

  test(`${adapter}: reports the remaining calls and the exact wait for the next one`, () => {
    const { clock, limiter } = scene()
    assert.deepEqual(pick(limiter.take([{ limit: device, key: 'a' }])), {
      granted: true,
      remaining: 19,
      waitMs: 3_000,
    })
    clock.advance(1_000)
    assert.deepEqual(pick(limiter.take([{ limit: device, key: 'a' }])), {
      granted: true,
      remaining: 18,
      waitMs: 2_000,
    })
    grantedOf(limiter, device, 'a', 18)
    const rejected = limiter.take([{ limit: device, key: 'a' }])
    assert.deepEqual(pick(rejected), { granted: false, remaining: 0, waitMs: 2_000 })
    clock.advance(rejected.waitMs - 1)
    assert.equal(limiter.take([{ limit: device, key: 'a' }]).granted, false)
    clock.advance(1)
    assert.equal(limiter.take([{ limit: device, key: 'a' }]).granted, true)
  })

  test(`${adapter}: takes nothing for a rejected call`, () => {
    const { clock, limiter } = scene()
    grantedOf(limiter, device, 'a', 1_000)
    clock.advance(3_000)
    assert.equal(grantedOf(limiter, device, 'a', 5), 1)
  })

  test(`${adapter}: supports a larger limit for one key`, () => {
    const { clock, limiter } = scene()
    const larger = parseLimits('create=60/300')?.create ?? create
    assert.equal(grantedOf(limiter, larger, 'a', 400), 300)
    // Longer than a default bucket of this limit takes to fill, and shorter than this one does.
    for (let second = 0; second < 100; second++) {
      clock.advance(1_000)
      limiter.take([{ limit: create, key: `other ${second}` }])
    }
    assert.equal(grantedOf(limiter, larger, 'a', 400), 100)
  })

  test(`${adapter}: takes from all buckets of a call or from none`, () => {
    const { limiter } = scene()
    const both = [
      { limit: device, key: 'narrow' },
      { limit: create, key: 'wide' },
    ]
    grantedOf(limiter, device, 'narrow', 20)
    const { granted, waitMs } = limiter.take(both)
    assert.deepEqual([granted, waitMs], [false, 3_000])
    assert.equal(grantedOf(limiter, create, 'wide', 150), 100)
  })

  test(`${adapter}: reports the fewest units left of all buckets of a call`, () => {
    const { limiter } = scene()
    const { remaining } = limiter.take([
      { limit: create, key: 'a' },
      { limit: device, key: 'a' },
    ])
    assert.equal(remaining, 19)
  })

  test(`${adapter}: leaves the units that a call must keep for others`, () => {
    const { clock, limiter } = scene()
    const keeping = { limit: device, key: 'a', keep: 5 }
    const results = []
    for (let call = 0; call < 16; call++) results.push(limiter.take([keeping]))
    assert.deepEqual(
      [results[14], results[15]].map((taken) => taken && pick(taken)),
      [
        { granted: true, remaining: 0, waitMs: 3_000 },
        { granted: false, remaining: 0, waitMs: 3_000 },
      ],
    )
    assert.equal(grantedOf(limiter, device, 'a', 9), 5)
    clock.advance(15_000)
    assert.equal(limiter.take([keeping]).granted, false)
    clock.advance(3_000)
    assert.equal(limiter.take([keeping]).granted, true)
  })

  test(`${adapter}: waits no longer than for an empty bucket when the clock is set back`, () => {
    const { clock, limiter } = scene()
    grantedOf(limiter, device, 'a', 20)
    clock.advance(-60 * 60_000)
    assert.equal(limiter.take([{ limit: device, key: 'a' }]).waitMs, 3_000)
    clock.advance(60_000)
    assert.equal(grantedOf(limiter, device, 'a', 30), 20)
  })
}

const pick = ({ granted, remaining, waitMs }: ReturnType<Limiter['take']>) => ({
  granted,
  remaining,
  waitMs,
})
