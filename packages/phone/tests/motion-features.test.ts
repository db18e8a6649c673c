import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SensorSignal } from '@bonded/contract'
import { fc } from '../../../tests/random.ts'
import { motionFeatures, type MotionRecording, type MotionSample } from '../src/index.ts'

const HZ = 50

/** So many seconds of readings, each made from the time since the start. */
function readings(
  seconds: number,
  at: (s: number) => Partial<Pick<MotionSample, 'acc' | 'gyro'>>,
): MotionSample[] {
  return Array.from({ length: seconds * HZ + 1 }, (_, index) => ({
    t_ms: (index * 1_000) / HZ,
    acc: [0, 0, 9.81] as const,
    gyro: [0, 0, 0] as const,
    ...at(index / HZ),
  }))
}

const wave = (hz: number) => (s: number) => Math.sin(2 * Math.PI * hz * s)
const featuresOf = (recording: Partial<MotionRecording>) =>
  motionFeatures({ samples: [], touches_ms: [], ...recording })

test('the variance is the sum over the three axes, in the units of the readings', () => {
  const shaken = readings(5, (s) => ({
    acc: [2 * wave(3)(s), 2 * wave(4)(s), 9.81],
    gyro: [0, Math.SQRT1_2 * 0.5 * (wave(2)(s) + wave(5)(s)), 1],
  }))
  const { features } = featuresOf({ samples: shaken }) ?? { features: [] }
  assert.ok(features.length >= 4)
  for (const { acc_var, gyro_var } of features) {
    // Of a sine of size A: A²/2. What is constant has none.
    assert.ok(Math.abs(acc_var - 4) < 0.05 && Math.abs(gyro_var - 0.125) < 0.005)
  }
})

test('a still phone has no variance, and a turning one has that of gravity', () => {
  const still = featuresOf({ samples: readings(3, () => ({})) })
  assert.ok(
    still?.features.every(
      ({ acc_var, gyro_var, handling }) => acc_var === 0 && gyro_var === 0 && handling === 0,
    ),
  )
  const angle = (s: number) => (s * Math.PI) / 2
  const turned = featuresOf({
    samples: readings(3, (s) => ({
      acc: [9.81 * Math.sin(angle(s)), 0, 9.81 * Math.cos(angle(s))],
      gyro: [0, Math.PI / 2, 0],
    })),
  })
  assert.ok(turned?.features.every(({ acc_var, handling }) => acc_var > 10 && handling === 1))
})

test('reports at most the last minute, one entry per second from the start of the window', () => {
  const { window_ms, features } = featuresOf({ samples: readings(100, () => ({})) }) ?? {
    window_ms: 0,
    features: [],
  }
  assert.deepEqual([window_ms, features.length], [60_000, 60])
  assert.ok(features.every(({ t_ms }, index) => t_ms === index * 1_000))
})

test('counts each touch in its second, the approving touch in the last, and none from before the window', () => {
  const samples = readings(70, () => ({}))
  const last = samples.at(-1)?.t_ms ?? 0
  const touchesIn = (touches_ms: readonly number[]) =>
    featuresOf({ samples, touches_ms })?.features.map(({ handling }) => handling) ?? []
  assert.equal(touchesIn([last]).at(-1), 1)
  assert.equal(
    touchesIn([last - 1_000, last]).reduce((sum, touches) => sum + touches, 0),
    2,
  )
  const nowhere = touchesIn([100, last + 5_000, Number.NaN])
  assert.ok(nowhere.length === 60 && nowhere.every((touches) => touches === 0))
})

test('returns no signal for less than a second', () => {
  assert.equal(featuresOf({}), undefined)
  assert.equal(featuresOf({ samples: readings(1, () => ({})).slice(0, 40) }), undefined)
})

test('omits a second without gravity, in another unit or with too few readings, and keeps the times of the others', () => {
  const tampered: Record<
    string,
    (sample: MotionSample, index: number) => MotionSample | undefined
  > = {
    'without gravity': (sample) => ({ ...sample, acc: [0.1, 0, 0] }),
    'in g': (sample) => ({ ...sample, acc: [0, 0, 1] }),
    'thrown around': (sample) => ({ ...sample, acc: [0, 0, 40] }),
    'six readings': (sample, at) => (at % 8 === 0 ? sample : undefined),
    'no numbers': (sample) => ({ ...sample, gyro: [Number.NaN, 0, 0] }),
    'going back in time': (sample) => ({ ...sample, t_ms: sample.t_ms - 5_000 }),
  }
  for (const [name, tamper] of Object.entries(tampered)) {
    // Three seconds, so two whole ones wherever they are cut.
    const samples = readings(10, () => ({})).flatMap((sample, index) =>
      sample.t_ms >= 3_000 && sample.t_ms < 6_000 ? (tamper(sample, index) ?? []) : sample,
    )
    const times = featuresOf({ samples })?.features.map(({ t_ms }) => t_ms) ?? []
    assert.ok(times.length >= 4 && times.length <= 8, `${name}: ${times.join()}`)
    assert.ok(
      times.some((t_ms, index) => t_ms - (times[index - 1] ?? 0) > 1_000),
      name,
    )
  }
})

test('ignores a reading that goes back in time', () => {
  const movement = (s: number) => ({ acc: [wave(1.3)(s), 0, 9.81] as const })
  const samples = readings(10, movement)
  const late = samples.toSpliced(400, 0, { t_ms: 2_010, acc: [0, 9, 0], gyro: [9, 9, 9] })
  assert.deepEqual(featuresOf({ samples: late }), featuresOf({ samples }))
})

test('the same movement read a little later gives the same seconds', () => {
  const jolt = (s: number) => Math.exp(-(((s - 31.3) / 0.05) ** 2))
  const movement = (s: number) => ({
    acc: [wave(0.37)(s), wave(1.1)(s), 9.81 + 3 * jolt(s)] as const,
    gyro: [0.1 * wave(0.7)(s), 0, 0] as const,
  })
  const recording = readings(58, movement)
  const all = featuresOf({ samples: recording })?.features ?? []
  for (const missing of [7, 20, 33]) {
    const known = new Set(all.map(({ acc_var }) => acc_var))
    const later = featuresOf({ samples: recording.slice(0, -missing) })?.features ?? []
    assert.ok(later.filter(({ acc_var }) => known.has(acc_var)).length >= 55, String(missing))
  }
})

test('the features of any readings are within the bounds of the protocol', () => {
  const { features, window_ms } = SensorSignal.properties as unknown as {
    window_ms: { minimum: number; maximum: number }
    features: {
      maxItems: number
      items: { properties: Record<string, { minimum: number; maximum: number }> }
    }
  }
  const wild = fc.integer({ min: -100_000, max: 100_000 })
  const vector = fc.tuple(wild, wild, wild)
  // As strong as a phone near the ground can be on average; otherwise there would be no entry to
  // look at.
  const some = fc.integer({ min: -8, max: 8 })
  const quiet = fc.tuple(some, some, fc.integer({ min: 6, max: 9 }))
  fc.assert(
    fc.property(
      fc.array(fc.record({ acc: quiet, gyro: vector }), { minLength: 30, maxLength: 200 }),
      fc.array(fc.double()),
      (made, touches_ms) => {
        const signal = motionFeatures({
          // The rotation keeps its value for five readings, so that it is not noise.
          samples: made.map(({ acc }, index) => ({
            acc,
            gyro: made[index - (index % 5)]?.gyro ?? [0, 0, 0],
            t_ms: index * 20,
          })),
          touches_ms,
        })
        if (signal === undefined) return
        assert.ok(
          signal.window_ms >= window_ms.minimum &&
            signal.window_ms <= window_ms.maximum &&
            signal.features.length <= features.maxItems,
        )
        for (const feature of signal.features) {
          for (const [member, { minimum, maximum }] of Object.entries(features.items.properties)) {
            const value = feature[member as keyof typeof feature]
            assert.ok(value >= minimum && value <= maximum, `${member} ${value}`)
          }
        }
      },
    ),
  )
})
