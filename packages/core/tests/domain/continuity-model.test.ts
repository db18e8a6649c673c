import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MIN_CONTINUITY_SCORE, type SensorFeature, type SensorSignal } from '@bonded/contract'
import { fc } from '../../../../tests/random.ts'
import {
  CARRIED_SECOND,
  CONTINUITY_FACTORS,
  MIN_CARRIED_SECONDS,
  NO_CONTINUITY,
  scoreContinuity,
} from '../../src/domain/continuity.ts'
import { fourDecimals } from '../../src/domain/scoring.ts'
import { seeded } from '../../../../tests/seeded.ts'

type Second = Partial<SensorFeature> & Pick<SensorFeature, 'acc_var' | 'gyro_var'>

/** A window of so many seconds with the given features, and a touch every tenth second. */
function windowOf(
  seconds: number,
  second: (at: number, any: () => number) => Second,
): SensorSignal {
  const next = seeded(20_261_121)
  const any = () => next(100_000) / 100_000
  const features = Array.from({ length: seconds }, (_, index) => ({
    t_ms: index * 1_000,
    handling: index % 10 === 0 ? 1 : 0,
    ...second(index, any),
  }))
  return { window_ms: seconds * 1_000, features }
}

const LOOSE = (any: () => number) => 0.5 + any()
/**
 * Like a user: with varying strength, both sensors together, and neither exactly like the other.
 */
const walk = (_: number, any: () => number): Second => {
  const vigour = Math.exp(2 * any())
  return { acc_var: 0.3 * vigour, gyro_var: 0.03 * vigour * LOOSE(any) }
}
const STILL: Second = { acc_var: 0.0008, gyro_var: 0.00001 }
const scored = (signal: SensorSignal) => scoreContinuity(signal).score

test('a varied minute of carrying scores 1', () => {
  assert.deepEqual(scoreContinuity(windowOf(60, walk)), {
    motionPresent: true,
    score: 1,
    windowMs: 60_000,
    samples: 60,
  })
})

test('a missing signal raises no score and lowers no other score', () => {
  assert.deepEqual(scoreContinuity(undefined), NO_CONTINUITY)
  assert.deepEqual(scoreContinuity({ window_ms: 60_000, features: [] }), NO_CONTINUITY)
})

test('a phone that does not move has no motion, with or without touches', () => {
  for (const handling of [0, 3]) {
    const { score, motionPresent } = scoreContinuity(windowOf(60, () => ({ ...STILL, handling })))
    assert.deepEqual([score, motionPresent], [0, false])
  }
})

test('counts a second as carried only if both sensors exceed their noise, stay below a machine’s, and agree', () => {
  const { accVar, gyroVar, ratio } = CARRIED_SECOND
  const outside: Record<string, (second: Second) => Second> = {
    'a desk that shakes and does not turn': ({ acc_var }) => ({ acc_var, gyro_var: gyroVar.above }),
    'a turn that moves nothing': ({ gyro_var }) => ({ acc_var: accVar.above, gyro_var }),
    'stronger than a person': ({ acc_var, gyro_var }) => ({
      acc_var: accVar.below + acc_var,
      gyro_var,
    }),
    'spun faster than a hand can': ({ acc_var, gyro_var }) => ({
      acc_var: 10 * acc_var,
      gyro_var: gyroVar.below + gyro_var,
    }),
    'shaken and not held': ({ acc_var }) => ({
      acc_var: acc_var * 10,
      gyro_var: (acc_var * 10) / ratio.below,
    }),
    'turned without gravity': ({ gyro_var }) => ({
      acc_var: 40 * gyro_var * ratio.above,
      gyro_var: 40 * gyro_var,
    }),
  }
  for (const [name, bend] of Object.entries(outside)) {
    assert.deepEqual(
      scoreContinuity(windowOf(60, (at, any) => bend(walk(at, any)))).motionPresent,
      false,
      name,
    )
  }
})

test('fewer than five carried seconds score 0, and half of the window carried scores 1', () => {
  const carriedFor = (seconds: number, of = 60) =>
    scoreContinuity(windowOf(of, (at, any) => (at < seconds ? walk(at, any) : STILL)))
  const short = carriedFor(MIN_CARRIED_SECONDS - 1, 8)
  assert.deepEqual([short.motionPresent, short.score], [true, 0])
  assert.equal(carriedFor(MIN_CARRIED_SECONDS, 8).score, 1)
  assert.equal(carriedFor(12).score, 0.4)
  assert.ok(
    carriedFor(17).score < MIN_CONTINUITY_SCORE && carriedFor(18).score >= MIN_CONTINUITY_SCORE,
  )
  assert.equal(carriedFor(40).score, 1)
})

test('eight seconds of recording suffice, which are seven whole ones, and five do not', () => {
  assert.equal(scored(windowOf(7, walk)), 1)
  assert.equal(scored(windowOf(6, walk)), 0.75)
  assert.equal(scored(windowOf(5, walk)), 0.5)
})

test('a gap counts as time in which the phone was not carried', () => {
  const whole = windowOf(60, walk)
  const holed = whole.features.filter((_, index) => index < 6 || index >= 54)
  assert.equal(scored({ ...whole, features: holed }), 0.4)
  assert.equal(scored({ ...whole, window_ms: 300_000 }), 0.4)
})

test('a still hand counts as carrying, a phone on a table does not', () => {
  const rest = [8.7, 17.1, 8.5, 8.4, 13, 13.6, 8.7, 12.9]
  const still = [5.8, 8.9, 4.2, 5, 5.6, 10.2, 4.6, 12.3]
  const of = (gyro: number) =>
    windowOf(8, (at) => ({
      acc_var: (rest[at] ?? 0) / 1_000,
      gyro_var: (still[at] ?? 0) * gyro,
    }))
  assert.ok(scored(of(1e-4)) >= MIN_CONTINUITY_SCORE)
  assert.deepEqual([scored(of(1e-6)), scoreContinuity(of(1e-6)).motionPresent], [0, false])
})

test('touches change nothing: a phone that lies still can be touched', () => {
  const untouched = windowOf(10, (at, any) => ({ ...walk(at, any), handling: 0 }))
  assert.equal(scored(untouched), scored(windowOf(10, walk)))
})

test('multiplies the factors of several shortcomings', () => {
  const signal = windowOf(6, (at, any) => (at < 5 ? walk(at, any) : STILL))
  assert.equal(scored({ ...signal, window_ms: 20_000 }), 0.5)
  assert.equal(scored({ ...windowOf(5, walk), window_ms: 5_000 }), 0.5)
})

test('each implausible pattern lowers the score by itself', () => {
  const wave = (at: number, size: number) => 1 + size * Math.sin(1.1 * at)
  const patterns: Record<
    string,
    [second: (at: number, any: () => number) => Second, atMost: number]
  > = {
    'one second again and again': [() => ({ acc_var: 1, gyro_var: 0.1 }), 0],
    'as even as white noise': [
      (_, any) => ({ acc_var: 1 + 0.3 * any(), gyro_var: 0.1 + 0.03 * any() }),
      0.2,
    ],
    'a wave': [(at) => ({ acc_var: wave(at, 0.7), gyro_var: 0.1 * wave(at + 1, 0.7) }), 0],
    'a wave with 1 % of noise': [
      (at, any) => ({
        acc_var: wave(at, 0.7) * (0.99 + 0.02 * any()),
        gyro_var: 0.1 * wave(at + 1, 0.7) * (0.99 + 0.02 * any()),
      }),
      0.1,
    ],
  }
  for (const seconds of [8, 15, 60]) {
    for (const [name, [second, atMost]] of Object.entries(patterns)) {
      const { score, motionPresent } = scoreContinuity(windowOf(seconds, second))
      assert.ok(score <= atMost, `${name}, ${seconds} s: ${score}`)
      assert.equal(motionPresent, true, name)
    }
  }
})

test('rejects seconds out of order, duplicated or beyond the window', () => {
  const { window_ms, features } = windowOf(60, walk)
  const [first, second, ...others] = features
  assert.ok(first && second)
  const malformed: readonly (readonly SensorFeature[])[] = [
    [second, first, ...others],
    [first, first, ...others],
    [first, ...others, { ...second, t_ms: window_ms + 1 }],
  ]
  for (const wrong of malformed)
    assert.equal(scored({ window_ms, features: wrong as SensorFeature[] }), 0)
})

test('rejects a signal with one number that is not finite', () => {
  const whole = windowOf(60, walk)
  for (const member of ['t_ms', 'acc_var', 'gyro_var', 'handling'] as const) {
    for (const value of [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      -1,
      undefined as unknown as number,
    ]) {
      const features = whole.features.map((feature, index) =>
        index === 30 ? { ...feature, [member]: value } : feature,
      )
      assert.deepEqual(
        [scored({ ...whole, features }), scoreContinuity({ ...whole, features }).motionPresent],
        [0, false],
        `${member} ${value}`,
      )
    }
  }
  for (const window_ms of [Number.NaN, Number.POSITIVE_INFINITY, -1, 0])
    assert.equal(scored({ ...whole, window_ms }), 0)
})

const anyFeature = fc.record({
  t_ms: fc.double(),
  acc_var: fc.double(),
  gyro_var: fc.double(),
  handling: fc.double(),
})
/** Seconds that the schema takes, most of them carried. */
const soundSignal = fc
  .array(
    fc.record({
      acc_var: fc.double({ min: 0, max: 20, noNaN: true }),
      gyro_var: fc.double({ min: 0, max: 2, noNaN: true }),
      handling: fc.nat(3),
    }),
    {
      minLength: 1,
      maxLength: 90,
    },
  )
  .map(
    (seconds): SensorSignal => ({
      window_ms: seconds.length * 1_000,
      features: seconds.map((second, index) => ({ ...second, t_ms: index * 1_000 })),
    }),
  )
/** Some of a carried minute, tampered with in places, for scores of every height. */
const nearlyCarried = fc
  .array(fc.tuple(fc.nat(59), fc.double({ min: 0.05, max: 20, noNaN: true })), { maxLength: 20 })
  .map((bends): SensorSignal => {
    const whole = windowOf(60, walk)
    for (const [at, by] of bends)
      whole.features.splice(at, 1, { ...(whole.features[at] ?? whole.features[0]!), acc_var: by })
    return whole
  })

test('returns a score from 0 to 1 with at most four decimals for any signal', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        soundSignal,
        nearlyCarried,
        fc.record({ window_ms: fc.double(), features: fc.array(anyFeature, { maxLength: 80 }) }),
      ),
      (signal) => {
        const { score } = scoreContinuity(signal)
        assert.ok(score >= 0 && score <= 1)
        assert.equal(score, fourDecimals(score))
      },
    ),
  )
})

test('length and carriage limit the score', () => {
  fc.assert(
    fc.property(fc.oneof(soundSignal, nearlyCarried), (signal) => {
      const value = scored(signal)
      const { window_ms, features } = signal
      const moved = features.filter(
        ({ acc_var, gyro_var }) =>
          acc_var > CARRIED_SECOND.accVar.above && gyro_var > CARRIED_SECOND.gyroVar.above,
      )
      const { length, carriage } = CONTINUITY_FACTORS
      assert.ok(value <= Math.max(0, (window_ms - length.none) / (length.full - length.none)))
      assert.ok(value <= (moved.length * 1_000) / window_ms / carriage.full)
      if (window_ms >= length.full)
        assert.ok(scored({ ...signal, window_ms: window_ms * 2 }) <= value)
    }),
  )
})
