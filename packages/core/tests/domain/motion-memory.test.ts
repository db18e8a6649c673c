import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SensorSignal } from '@bonded/contract'
import { carriedSignals } from '../../../../tests/carried-signals.ts'
import { fc } from '../../../../tests/random.ts'
import {
  compareWindow,
  MAX_STORED_WINDOWS,
  MIN_REPEATED_FINGERPRINTS,
  type MotionMemory,
  motionPatternsOf,
  REPETITION_THRESHOLD,
} from '../../src/domain/motion-memory.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const carried = (of: number) => carriedSignals(of).sensor_continuity as SensorSignal

test('never confuses two users', () => {
  const fingerprintsOf = (of: number) => new Set(motionPatternsOf(carried(of)))
  let memory: MotionMemory = { keyId: 'k1', windows: [] }
  for (let of = 100; of < 100 + MAX_STORED_WINDOWS; of++)
    memory = stored(compareWindow(fingerprintsOf(of), { memory, windowMs: MINUTE_MS, now: 0 }))
  assert.equal(memory.windows.length, MAX_STORED_WINDOWS)
  for (let of = 200; of < 1_200; of++)
    stored(compareWindow(fingerprintsOf(of), { memory, windowMs: MINUTE_MS, now: DAY_MS }))
})

test('reports a repetition from a fifth of the fingerprints, and not from one less', () => {
  const known = Array.from({ length: 50 }, (_, index) => index)
  const memory: MotionMemory = { keyId: 'k1', windows: [{ at: 0, fingerprints: known }] }
  const shared = (count: number) => [
    ...known.slice(0, count),
    ...Array.from({ length: 50 - count }, (_, index) => 1_000 + index),
  ]
  const judge = (fingerprints: readonly number[]) =>
    compareWindow(new Set(fingerprints), { memory, windowMs: MINUTE_MS, now: DAY_MS }) ===
    'repetition'
  assert.deepEqual(
    [
      judge(shared(50 * REPETITION_THRESHOLD - 1)),
      judge(shared(50 * REPETITION_THRESHOLD)),
      judge([]),
    ],
    [false, true, false],
  )
  const empty: MotionMemory = { keyId: 'k1', windows: [{ at: 0, fingerprints: [] }] }
  stored(compareWindow(new Set(), { memory: empty, windowMs: MINUTE_MS, now: DAY_MS }))
})

test('one match of a short window is chance, two are a repetition', () => {
  const memory: MotionMemory = { keyId: 'k1', windows: [{ at: 0, fingerprints: [1, 2, 3, 4] }] }
  const judge = (...fingerprints: number[]) =>
    compareWindow(new Set(fingerprints), { memory, windowMs: 8_000, now: DAY_MS }) === 'repetition'
  assert.equal(MIN_REPEATED_FINGERPRINTS, 2)
  assert.deepEqual([judge(1, 5, 6, 7), judge(1), judge(1, 2, 6, 7)], [false, false, true])
})

test('a pattern covers three carried seconds, and no second in which the phone lay still', () => {
  const { window_ms, features } = carried(1)
  const lying = (from: number, until: number) => ({
    window_ms,
    features: features.map((feature, index) =>
      index >= from && index < until ? { ...feature, acc_var: 0, gyro_var: 0 } : feature,
    ),
  })
  assert.equal(motionPatternsOf(carried(1)).length, 58)
  assert.equal(motionPatternsOf(lying(0, 60)).length, 0)
  assert.equal(motionPatternsOf(lying(0, 57)).length, 1)
  assert.equal(motionPatternsOf(lying(2, 58)).length, 0)
  assert.equal(motionPatternsOf(lying(20, 21)).length, 18 + 37)
})

test('a pattern is a number of 30 bits that another second changes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.nat(59), (of, at) => {
      const signal = carried(of)
      const patterns = motionPatternsOf(signal)
      for (const pattern of patterns)
        assert.ok(Number.isInteger(pattern) && pattern >= 0 && pattern < 2 ** 30)
      const changed = motionPatternsOf({
        ...signal,
        features: signal.features.map((feature, index) =>
          index === at ? { ...feature, gyro_var: feature.gyro_var * 1.5 } : feature,
        ),
      })
      changed.forEach((pattern, first) => {
        assert.equal(pattern !== patterns[first], at >= first && at <= first + 2)
      })
    }),
  )
})

/** Fails if the window was a repetition. */
function stored(compared: ReturnType<typeof compareWindow>): MotionMemory {
  if (compared === 'repetition') assert.fail('the window is a repetition')
  return compared
}
