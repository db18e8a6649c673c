import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMIT_NAMES, LIMITS } from '@bonded/contract'
import { fc } from '../../../../../tests/random.ts'
import { memoryLimiter } from '../../../src/adapters/limiter/memory-limiter.ts'
import {
  formatLimits,
  type Limit,
  limitOfNetwork,
  parseLimits,
  USUAL_LIMITS,
} from '../../../../core/src/domain/limits.ts'
import { networksOf } from '../../../../core/src/domain/network.ts'
import { limiterSuite } from './limiter-suite.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'

limiterSuite('in memory', (clock) => memoryLimiter(clock))

const limit = fc
  .tuple(
    fc.oneof(fc.constantFrom(1, 6, 7, 20, 60, 120, 600, 601), fc.integer({ min: 1, max: 5_000 })),
    fc.integer({ min: 1, max: 200 }),
  )
  .map(([quota, burst]) => parseLimits(`create=${quota}/${burst}`)?.create as Limit)
const calls = fc.array(
  fc.record({
    afterMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 50 }),
      fc.integer({ min: 0, max: 70_000 }),
    ),
    key: fc.constantFrom('a', 'b'),
  }),
  { minLength: 1, maxLength: 300 },
)

/** A reference model: a bucket of microseconds, of which each call costs one interval. */
function reference({ burst, intervalUs }: Limit) {
  let credit = BigInt(burst * intervalUs)
  let last = 0n
  return (nowMs: number): boolean => {
    const now = BigInt(nowMs) * 1_000n
    const whole = BigInt(burst * intervalUs)
    credit = credit + now - last > whole ? whole : credit + now - last
    last = now
    if (credit < BigInt(intervalUs)) return false
    credit -= BigInt(intervalUs)
    return true
  }
}

test('grants exactly what the reference model grants in random histories', () => {
  fc.assert(
    fc.property(limit, calls, (of, history) => {
      const clock = new TestClock()
      const begin = clock.now()
      const limiter = memoryLimiter(clock)
      const bucket = { a: reference(of), b: reference(of) }
      for (const { afterMs, key } of history) {
        clock.advance(afterMs)
        const { granted } = limiter.take([{ limit: of, key }])
        assert.equal(granted, bucket[key](clock.now() - begin))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('grants at~maxSize burst + rate × time in any period', () => {
  fc.assert(
    fc.property(limit, calls, (of, history) => {
      const clock = new TestClock()
      const limiter = memoryLimiter(clock)
      const grantedAt: number[] = []
      for (const { afterMs } of history) {
        clock.advance(afterMs)
        if (limiter.take([{ limit: of, key: 'a' }]).granted) grantedAt.push(clock.now())
      }
      for (const [from, begin] of grantedAt.entries()) {
        for (const [to, end] of grantedAt.entries()) {
          if (to >= from)
            assert.ok(
              to - from + 1 <= of.burst + (of.quota * (end - begin)) / 60_000,
              `${to - from + 1} in ${end - begin} ms`,
            )
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('drops full buckets under a load of 1,000 new keys per second', () => {
  const clock = new TestClock()
  const limiter = memoryLimiter(clock)
  let maxSize = 0
  for (let second = 0; second < 300; second++) {
    for (let key = 0; key < 1_000; key++)
      void limiter.take([{ limit: USUAL_LIMITS.create, key: `${second} ${key}` }])
    maxSize = Math.max(maxSize, limiter.size())
    clock.advance(1_000)
  }
  // A bucket of `create` is full again after ten seconds, and is dropped one generation later.
  assert.ok(maxSize >= 10_000 && maxSize <= 21_000, `${maxSize} buckets`)
  clock.advance(60_000)
  void limiter.take([{ limit: USUAL_LIMITS.create, key: 'one more' }])
  assert.equal(limiter.size(), 1)
})

const TEN_A_MINUTE = parseLimits('register=10/10')?.register ?? assert.fail()

test('stays within its bound under a burst of keys and keeps the buckets in use', () => {
  const clock = new TestClock()
  const limiter = memoryLimiter(clock, { maxKeys: 1_000 })
  let granted = 0
  for (let key = 0; key < 50_000; key++) {
    void limiter.take([{ limit: TEN_A_MINUTE, key: `junk ${key}` }])
    if (key % 100 === 0)
      granted += limiter.take([{ limit: TEN_A_MINUTE, key: 'greedy' }]).granted ? 1 : 0
  }
  assert.equal(granted, 10)
  assert.ok(limiter.size() <= 2_000, `${limiter.size()} buckets`)
})

test('the quota of a session begins anew at most once for each generation of other sessions', () => {
  const clock = new TestClock()
  const maxKeys = 1_000
  const limiter = memoryLimiter(clock, { maxKeys })
  const take = { limit: USUAL_LIMITS.evidence, key: 'greedy' }
  const { quota } = USUAL_LIMITS.evidence
  /** A phone that waits until its bucket is gone, which any call would keep. */
  const takeAll = () => {
    let granted = 0
    while (limiter.peek([take]).granted) granted += limiter.take([take]).granted ? 1 : 0
    return granted
  }
  let granted = takeAll()
  assert.equal(granted, quota)
  for (let other = 1; other <= 50_000; other++) {
    void limiter.take([{ ...take, key: `session ${other}` }])
    granted += takeAll()
    // The sessions of a day are spread over it.
    if (other % 100 === 0) clock.advance(60_000)
    if (other <= maxKeys) assert.equal(granted, quota)
    assert.ok(granted <= quota * (1 + Math.floor(other / maxKeys)), `${granted} after ${other}`)
  }
  assert.ok(granted > quota)
})

test('bounds its memory while callers come from ever new IPv4 and IPv6 networks', () => {
  const clock = new TestClock()
  const limiter = memoryLimiter(clock, { maxKeys: 1_000 })
  const limit = USUAL_LIMITS.bad_credential
  let maxSize = 0
  for (let call = 0; call < 50_000; call++) {
    const [high, low] = [call >> 8, call & 0xff]
    const address = call % 2 ? `10.1.${high}.${low}` : `2001:db8:${high.toString(16)}:${low}::1`
    void limiter.take(
      networksOf(address).map((network) => ({
        limit: limitOfNetwork(limit, network),
        key: network.key,
      })),
    )
    if (call % 1_000 === 0) maxSize = Math.max(maxSize, limiter.size())
  }
  // A call brings at~maxSize three keys after a generation was found to be full enough to turn.
  assert.ok(maxSize <= 2_004, `${maxSize} buckets`)
})

test('adds no key for a rejected call, so a flood from one network drops no other bucket', () => {
  const limiter = memoryLimiter(new TestClock(), { maxKeys: 1_000 })
  const limit = TEN_A_MINUTE
  for (let call = 0; call < 10; call++) void limiter.take([{ limit, key: '192.0.2.1' }])
  for (let call = 0; call < 20_000; call++) {
    const address = `2001:db8:0:${call.toString(16)}::1`
    void limiter.take(
      networksOf(address).map((network) => ({
        limit: limitOfNetwork(limit, network),
        key: network.key,
      })),
    )
  }
  assert.ok(limiter.size() < 200, `${limiter.size()} buckets`)
  assert.equal(limiter.take([{ limit, key: '192.0.2.1' }]).granted, false)
})

test('rounds an interval so that the rate never exceeds the configured one', () => {
  for (let quota = 1; quota <= 5_000; quota++) {
    const intervalUs = parseLimits(`get=${quota}`)?.get?.intervalUs ?? 0
    assert.ok(
      intervalUs * quota >= 60_000_000 && (intervalUs - 1) * quota < 60_000_000,
      `${quota} a minute`,
    )
  }
})

test('uses the default limits of protocol 10', () => {
  assert.deepEqual(
    LIMIT_NAMES.map((name) => USUAL_LIMITS[name].policy),
    [
      '"create";q=600;w=60;burst=100',
      '"create_address";q=60;w=60',
      '"get";q=120;w=60',
      '"channel";q=60;w=60',
      '"device";q=20;w=60',
      '"evidence";q=6',
      '"containment";q=8',
      '"browser";q=30;w=60',
      '"invitation";q=120;w=60',
      '"challenge";q=6000;w=60;burst=1000',
      '"register";q=60;w=60',
      '"recovery";q=30;w=60',
      '"backend";q=6000;w=60;burst=1000',
      '"block";q=120;w=60',
      '"webhook";q=60;w=60',
      '"portal";q=300;w=60',
      '"phone";q=60;w=60',
      '"public";q=6000;w=60;burst=1000',
      '"consistency";q=600;w=60;burst=100',
      '"not_found";q=300;w=60',
      '"rejected";q=300;w=60',
      '"bad_credential";q=20;w=60',
    ],
  )
  assert.equal(LIMITS.evidence.every, 'session')
})

test('parses formatted limits and rejects malformed ones', () => {
  const text = 'create=1200/200,get=240,evidence=12'
  assert.equal(formatLimits(parseLimits(text) ?? {}), text)
  assert.equal(parseLimits('create=50')?.create?.burst, 100, 'the usual burst stays')
  assert.equal(parseLimits('get=50')?.get?.burst, 50)
  for (const wrong of [
    '',
    'get',
    'get=',
    'get=0',
    'get=-1',
    'get=1.5',
    'get=1/0',
    'get=600001',
    'got=1',
    'get=1,get=2',
    'get=1,',
    'evidence=6/2',
  ]) {
    assert.equal(parseLimits(wrong), undefined, wrong)
  }
})
