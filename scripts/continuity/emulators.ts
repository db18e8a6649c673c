import type { SensorSignal } from '@bonded/contract'
import { motionFeatures, type MotionSample } from '@bonded/phone'
import { simulateCarriedPhone } from '@bonded/simulator'
import type { Vector } from './body.ts'
import { WINDOW_S } from './carried.ts'
import type { Chance } from './chance.ts'
import { RATES_HZ, rounded } from './recordings.ts'

type Range = readonly [low: number, high: number]
const FREQUENCIES_HZ: readonly Range[] = [
  [0.05, 0.4],
  [0.4, 3],
  [3, 10],
]

/**
 * Readings that need no phone, fed to an unchanged app or page: at each rate, evenly and unevenly,
 * rounded and not, and on one to three axes.
 */
export const EMULATORS: Readonly<Record<string, (luck: Chance) => SensorSignal>> = {
  constants: (luck) => readings(luck, still),
  'constants, the last digit flickers': (luck) =>
    readings(luck, () => ({
      acc: [luck.happens(0.5) ? 0.1 : 0, 0, 9.8],
      gyro: [luck.happens(0.5) ? 0.002 : 0, 0, 0],
    })),
  ...byFrequency('sine waves of one frequency', common),
  ...byFrequency('sine waves, each axis with its own frequency', independent),
  'white noise, gaussian': (luck) => readings(luck, noise(luck, { axes: 3 })),
  'white noise, uniform': (luck) => readings(luck, noise(luck, { axes: 3, isUniform: true })),
  'white noise on one axis': (luck) => readings(luck, noise(luck, { axes: 1 })),
  'white noise on one axis, 20 readings a second': (luck) =>
    readings(luck, noise(luck, { axes: 1 }), { rateHz: 20 }),
  'white noise on one axis, 30 readings a second': (luck) =>
    readings(luck, noise(luck, { axes: 1 }), { rateHz: 30 }),
  'white noise that changes 20 to 30 times a second': (luck) =>
    readings(luck, noise(luck, { axes: axesOf(luck) }), { changesHz: luck.uniform(20, 30) }),
  'white noise with drifting loudness': (luck) => {
    const loudness = drifting(luck)
    return readings(luck, noise(luck, { axes: axesOf(luck), loudness }))
  },
}

/** Readings that pass, for all or some of their authors' choices. */
export const PASSING: typeof EMULATORS = {
  'smooth noise': (luck) =>
    readings(
      luck,
      smooth(luck, () => 1),
    ),
  'smooth noise with drifting loudness': (luck) => readings(luck, smooth(luck, drifting(luck))),
  'the simulated phone of this repository': (luck) =>
    simulateCarriedPhone(() => luck.uniform(0, 1)),
}

type Reading = (s: number) => { acc: Vector; gyro: Vector }

interface Reader {
  readonly rateHz?: number
  /** How often the sensor changes; it repeats its reading in between. */
  readonly changesHz?: number
}

function readings(luck: Chance, script: Reading, reader: Reader = {}): SensorSignal {
  const rateHz = reader.rateHz ?? oneOf(luck, RATES_HZ)
  const jitter = oneOf(luck, [0, 0.1, 0.3])
  const isRounded = luck.happens(0.5)
  let latestMs = -1
  let [change, held] = [-1, script(0)]
  const samples = Array.from({ length: WINDOW_S * rateHz }, (_, index): MotionSample => {
    const exact = (index + jitter * luck.normal()) * (1_000 / rateHz)
    latestMs = Math.max(latestMs + 0.1, exact)
    const changes = Math.floor((latestMs * (reader.changesHz ?? 0)) / 1_000)
    if (reader.changesHz === undefined || changes !== change) held = script(latestMs / 1_000)
    change = changes
    const sample = { t_ms: latestMs, ...held }
    return isRounded ? rounded(sample) : sample
  })
  const touches_ms = [WINDOW_S * 1_000 - 50]
  return motionFeatures({ samples, touches_ms }) ?? { window_ms: 1_000, features: [] }
}

const still: Reading = () => ({ acc: [0, 0, 9.81], gyro: [0, 0, 0] })

/** Values around 0 for each axis of both sensors. The sizes cover two decades. */
function around(luck: Chance, axes: number, value: (axis: number, s: number) => number): Reading {
  const [acc, gyro] = [luck.logUniform(0.05, 5), luck.logUniform(0.02, 2)]
  const first = Math.floor(luck.uniform(0, 3))
  const used = [0, 1, 2].map((axis) => (axis + first) % 3 < axes)
  const at = (axis: number, s: number) => (used[axis % 3] === true ? value(axis, s) : 0)
  return (s) => ({
    acc: [acc * at(0, s), acc * at(1, s), 9.81 + acc * at(2, s)],
    gyro: [gyro * at(3, s), gyro * at(4, s), gyro * at(5, s)],
  })
}

interface Noise {
  readonly axes: number
  readonly isUniform?: boolean
  readonly loudness?: (s: number) => number
}

function noise(luck: Chance, { axes, isUniform = false, loudness = () => 1 }: Noise): Reading {
  const widest = Math.sqrt(3)
  const any = () => (isUniform ? luck.uniform(-widest, widest) : luck.normal())
  return around(luck, axes, (_, s) => loudness(s) * any())
}

/** Noise that changes as slowly as a limb does. */
function smooth(luck: Chance, loudness: (s: number) => number): Reading {
  const waves = [0, 1, 2, 3, 4, 5].map(() =>
    [0, 1, 2, 3, 4, 5].map(() => ({ hz: luck.uniform(0.5, 4), shift: luck.uniform(0, 6) })),
  )
  return around(luck, axesOf(luck), (axis, s) => {
    const values = (waves[axis] ?? []).map(({ hz, shift }) => sine(hz, s, shift))
    return loudness(s) * values.reduce((sum, value) => sum + value, 0)
  })
}

/** A factor for each second. */
function drifting(luck: Chance): (s: number) => number {
  let [second, level] = [-1, luck.normal()]
  return (s) => {
    if (Math.floor(s) !== second) level = 0.8 * level + 0.4 * luck.normal()
    second = Math.floor(s)
    return Math.exp(level)
  }
}

/** One entry for each range of frequencies; `pick` returns the frequency of an axis. */
function byFrequency(
  name: string,
  pick: (luck: Chance, hz: Range) => () => number,
): Record<string, (luck: Chance) => SensorSignal> {
  return Object.fromEntries(
    FREQUENCIES_HZ.map((hz) => [
      `${name}, ${hz[0]} to ${hz[1]} Hz`,
      (luck: Chance) => {
        const next = pick(luck, hz)
        const waves = [0, 1, 2, 3, 4, 5].map(() => ({ hz: next(), shift: luck.uniform(0, 6) }))
        return readings(
          luck,
          around(luck, axesOf(luck), (axis, s) => {
            const wave = waves[axis] ?? { hz: 0, shift: 0 }
            return sine(wave.hz, s, wave.shift)
          }),
        )
      },
    ]),
  )
}

function common(luck: Chance, hz: Range): () => number {
  const shared = luck.logUniform(...hz)
  return () => shared
}

function independent(luck: Chance, hz: Range): () => number {
  return () => luck.logUniform(...hz)
}

function sine(hz: number, s: number, shift: number): number {
  return Math.sin(2 * Math.PI * hz * s + shift)
}

function axesOf(luck: Chance): number {
  return oneOf(luck, [1, 2, 3])
}

function oneOf(luck: Chance, values: readonly number[]): number {
  return values[Math.floor(luck.uniform(0, values.length))] ?? 0
}
