import assert from 'node:assert/strict'
import { test } from 'node:test'
import { motionFeatures, type MotionSample } from '../src/index.ts'

type Vector = readonly [number, number, number]

const SECONDS = 10
const RATES_HZ = [12, 20, 30, 60, 100]

/** How many of the seconds have a rotation, and how many seconds there are. */
function turningOf(
  hz: number,
  read: (s: number, index: number) => { acc: Vector; gyro: Vector },
): { turning: number; seconds: number } {
  const samples = Array.from({ length: SECONDS * hz }, (_, index): MotionSample => {
    return { t_ms: (index * 1_000) / hz, ...read(index / hz, index) }
  })
  const { features } = motionFeatures({ samples, touches_ms: [] }) ?? { features: [] }
  return {
    turning: features.filter(({ gyro_var }) => gyro_var > 0).length,
    seconds: features.length,
  }
}

/** Numbers from -1 to 1 that are the same in each run. */
function noiseFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  }
}

function vector(next: () => number): Vector {
  return [next(), next(), next()]
}

const wave = (hz: number, s: number, shift = 0) => Math.sin(2 * Math.PI * hz * s + shift)

/** A wave of several frequencies on each axis. */
const limb = (s: number): Vector => [
  wave(0.7, s) + wave(1.9, s) + 0.3 * wave(3.1, s),
  wave(0.9, s, 1) + wave(2.3, s, 2) + 0.3 * wave(3.7, s),
  wave(1.1, s, 2) + wave(2.9, s, 1) + 0.3 * wave(3.3, s),
]

const upright = ([x, y, z]: Vector): Vector => [x, y, 9.81 + z]

test('reports the rotation of a movement at any rate of reading', () => {
  for (const hz of RATES_HZ) {
    const { turning, seconds } = turningOf(hz, (s) => ({ acc: upright(limb(s)), gyro: limb(s) }))
    assert.ok(turning >= 0.9 * seconds, `${hz} Hz: ${turning} of ${seconds}`)
  }
})

test('reports no rotation for white noise on three axes', () => {
  for (const hz of RATES_HZ) {
    const next = noiseFrom(hz)
    const { turning, seconds } = turningOf(hz, () => ({
      acc: upright(vector(next)),
      gyro: vector(next),
    }))
    assert.ok(seconds >= 8 && turning <= 1, `${hz} Hz: ${turning} of ${seconds}`)
  }
})

test('reports no rotation for white noise on one axis', () => {
  for (const hz of RATES_HZ) {
    const next = noiseFrom(hz)
    const { turning, seconds } = turningOf(hz, () => ({
      acc: [0, 0, 9.81 + next()],
      gyro: [0, next(), 0],
    }))
    assert.ok(seconds >= 8 && turning <= 4, `${hz} Hz: ${turning} of ${seconds}`)
  }
})

test('reports no rotation for noise that the page reads more often than it changes', () => {
  const next = noiseFrom(1)
  let reading = { acc: upright(vector(next)), gyro: vector(next) }
  const { turning, seconds } = turningOf(60, (_, index) => {
    if (index % 3 === 0) reading = { acc: upright(vector(next)), gyro: vector(next) }
    return reading
  })
  assert.ok(seconds >= 8 && turning <= 1, `${turning} of ${seconds}`)
})

test('reports no rotation for a wave, with an own frequency on each axis', () => {
  for (const hz of RATES_HZ) {
    for (const slowest of [0.05, 0.2, 0.8]) {
      const { turning, seconds } = turningOf(hz, (s) => ({
        acc: upright([wave(slowest, s), 0, wave(2 * slowest, s)]),
        gyro: [wave(slowest, s, 1), wave(1.3 * slowest, s, 2), wave(1.7 * slowest, s)],
      }))
      assert.ok(
        seconds >= 8 && turning <= 1,
        `${slowest} Hz, read at ${hz} Hz: ${turning} of ${seconds}`,
      )
    }
  }
})

test('keeps the acceleration, the time and the number of seconds without rotation', () => {
  const next = noiseFrom(1)
  const samples = Array.from({ length: 600 }, (_, index): MotionSample => {
    return { t_ms: (index * 1_000) / 60, acc: upright(vector(next)), gyro: vector(next) }
  })
  const { window_ms, features } = motionFeatures({ samples, touches_ms: [] }) ?? {
    window_ms: 0,
    features: [],
  }
  assert.equal(features.length * 1_000, window_ms)
  assert.ok(features.every(({ acc_var, t_ms }, index) => acc_var > 0.5 && t_ms === index * 1_000))
})
