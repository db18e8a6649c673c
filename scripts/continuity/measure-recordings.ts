import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { MIN_CONTINUITY_SCORE, type SensorSignal } from '@bonded/contract'
import { motionFeatures } from '@bonded/phone'
import { CONTINUITY_MODEL, scoreContinuity } from '../../packages/core/src/domain/continuity.ts'
import { compareWindow, motionPatternsOf } from '../../packages/core/src/domain/motion-memory.ts'
import { chance, type Chance } from './chance.ts'
import { RATES_HZ, readAt, type Recording, readRecordings, rounded } from './recordings.ts'

/**
 * What the model makes of the recordings. The recordings are outside this repository, so the counts
 * are committed: `npm run measure:motion` writes them, and a test compares them where the
 * recordings are.
 */
const FILE = resolve(import.meta.dirname, 'recorded.json')

export interface RecordedCounts {
  readonly model: string
  readonly windows: readonly {
    readonly set: string
    readonly carried: 'hand' | 'pocket'
    readonly seconds: number
    readonly windows: number
    readonly accepted: number
    /** Windows that the simple rule of `simpleRuleAccepts` accepts. */
    readonly acceptedByRule: number
  }[]
  /** Windows of ten seconds at several rates, by whether the limits were chosen on them. */
  readonly rates: readonly {
    readonly set: string
    readonly carried: 'hand' | 'pocket'
    readonly isHeldOut: boolean
    readonly rateHz: number
    readonly windows: number
    readonly accepted: number
  }[]
  /** Two windows of different times, compared as a phone's earlier and later one. */
  readonly unrelated: readonly {
    readonly seconds: number
    readonly storedSeconds: number
    readonly pairs: number
    readonly repetitions: number
  }[]
  /** Changed windows whose score alone accepts them. */
  readonly replays: readonly {
    readonly change: string
    readonly seconds: number
    readonly windows: number
    readonly repetitions: number
  }[]
}

/** The committed counts. */
export function readRecordedCounts(): RecordedCounts {
  return JSON.parse(readFileSync(FILE, 'utf8')) as RecordedCounts
}

/** Computes the counts from the recordings, which takes half a minute. */
export function measureRecordings(recordings: readonly Recording[]): RecordedCounts {
  const of = new Map(SECONDS.map((seconds) => [seconds, windowsOf(recordings, seconds)]))
  const windows = (seconds: number) => of.get(seconds) ?? []
  return {
    model: CONTINUITY_MODEL,
    windows: SECONDS.flatMap((seconds) => accuracyOf(windows(seconds), seconds)),
    rates: RATES_HZ.flatMap((rateHz) => accuracyAt(recordings, rateHz)),
    unrelated: [
      [8, 8],
      [10, 10],
      [15, 15],
      [8, 30],
    ].map(([seconds = 0, storedSeconds = 0]) => ({
      seconds,
      storedSeconds,
      ...compareUnrelated(windows(seconds), windows(storedSeconds)),
    })),
    replays: [8, 10, 15].flatMap((seconds) =>
      Object.entries(CHANGES).map(([change, changed]) => {
        const worth = windows(seconds).filter(isAccepted)
        const luck = chance(seconds)
        const replays = worth
          .map(({ signal }) => ({ signal, replay: changed(signal, luck) }))
          .filter(({ replay }) => scoreContinuity(replay).score >= MIN_CONTINUITY_SCORE)
        const repetitions = replays.filter(({ replay, signal }) => repeats(replay, signal))
        return { change, seconds, windows: replays.length, repetitions: repetitions.length }
      }),
    ),
  }
}

/** How long the windows are. A new one starts every second of a recording. */
const SECONDS = [8, 10, 15, 30]

interface RecordedWindow {
  readonly recording: Recording
  readonly fromMs: number
  readonly untilMs: number
  readonly signal: SensorSignal
}

/** The windows as Chrome's readings give them, each with one tap at its end. */
function windowsOf(recordings: readonly Recording[], seconds: number): RecordedWindow[] {
  return recordings.flatMap((recording) => {
    const samples = recording.samples.map(rounded)
    const endMs = (samples.at(-1)?.t_ms ?? 0) + 20
    const windows: RecordedWindow[] = []
    for (let fromMs = 0; fromMs + seconds * 1_000 <= endMs; fromMs += 1_000) {
      const untilMs = fromMs + seconds * 1_000
      const signal = motionFeatures({
        samples: samples.filter(({ t_ms }) => t_ms >= fromMs && t_ms < untilMs),
        touches_ms: [untilMs - 50],
      })
      windows.push({ recording, fromMs, untilMs, signal: signal ?? NO_SIGNAL })
    }
    return windows
  })
}

const NO_SIGNAL: SensorSignal = { window_ms: 1_000, features: [] }

function accuracyOf(windows: readonly RecordedWindow[], seconds: number) {
  const kinds = Map.groupBy(
    windows,
    ({ recording: { set, carried } }) => `${set}, ${carried}` as const,
  )
  return [...kinds.values()].map((those) => {
    const { set, carried } = (those[0] as RecordedWindow).recording
    return {
      set,
      carried,
      seconds,
      windows: those.length,
      accepted: those.filter(isAccepted).length,
      acceptedByRule: those.filter(({ signal }) => simpleRuleAccepts(signal)).length,
    }
  })
}

function accuracyAt(recordings: readonly Recording[], rateHz: number) {
  const read = recordings.map((recording) => ({
    ...recording,
    samples: readAt(recording.samples, rateHz),
  }))
  const kinds = Map.groupBy(
    windowsOf(read, 10),
    ({ recording: { set, carried, isHeldOut } }) => `${set}, ${carried}, ${isHeldOut}` as const,
  )
  return [...kinds.values()].map((those) => {
    const { set, carried, isHeldOut } = (those[0] as RecordedWindow).recording
    const accepted = those.filter(isAccepted).length
    return { set, carried, isHeldOut, rateHz, windows: those.length, accepted }
  })
}

function isAccepted({ signal }: RecordedWindow): boolean {
  return scoreContinuity(signal).score >= MIN_CONTINUITY_SCORE
}

/**
 * The rule to beat, chosen from the same recordings: half of the seconds above the noise of
 * a table, and acceleration that is not even.
 */
function simpleRuleAccepts({ features }: SensorSignal): boolean {
  const carried = features.filter(
    ({ acc_var, gyro_var }) =>
      acc_var > 0.004 &&
      acc_var < 150 &&
      gyro_var > 0.0001 &&
      gyro_var < 150 &&
      acc_var / gyro_var > 0.02 &&
      acc_var / gyro_var < 300,
  )
  const loudness = carried.map(({ acc_var }) => Math.log(acc_var))
  const mean = loudness.reduce((sum, value) => sum + value, 0) / loudness.length
  const deviation = Math.sqrt(
    loudness.reduce((sum, value) => sum + (value - mean) ** 2, 0) / loudness.length,
  )
  return carried.length >= features.length / 2 && deviation >= 0.16
}

/** How far apart two windows of one recording must be to count as unrelated. */
const APART_MS = 2_000

function compareUnrelated(
  shown: readonly RecordedWindow[],
  stored: readonly RecordedWindow[],
): { pairs: number; repetitions: number } {
  let [pairs, repetitions] = [0, 0]
  const before = stored.filter(isAccepted).map((window) => ({
    ...window,
    memory: memoryOf(window.signal),
  }))
  for (const { recording, fromMs, untilMs, signal } of shown.filter(isAccepted)) {
    const patterns = new Set(motionPatternsOf(signal))
    for (const other of before) {
      const isRelated =
        other.recording === recording &&
        other.fromMs < untilMs + APART_MS &&
        other.untilMs + APART_MS > fromMs
      if (isRelated) continue
      pairs++
      if (isRepetition(patterns, other.memory)) repetitions++
    }
  }
  return { pairs, repetitions }
}

/** Without a key, the patterns serve as the fingerprints themselves. */
function memoryOf(signal: SensorSignal) {
  return { keyId: 'k1', windows: [{ at: 0, fingerprints: motionPatternsOf(signal) }] }
}

const DAY_MS = 86_400_000

function isRepetition(patterns: ReadonlySet<number>, memory: ReturnType<typeof memoryOf>): boolean {
  const compared = compareWindow(patterns, { memory, windowMs: 60_000, now: DAY_MS })
  return compared === 'repetition'
}

function repeats(replay: SensorSignal, original: SensorSignal): boolean {
  return isRepetition(new Set(motionPatternsOf(replay)), memoryOf(original))
}

/** What a replay changes in the features of a window. */
const CHANGES: Readonly<Record<string, (signal: SensorSignal, luck: Chance) => SensorSignal>> = {
  unchanged: (signal) => signal,
  'cut by 2 seconds': (signal) => ({ ...signal, features: signal.features.slice(1, -1) }),
  'with 1 % of jitter': (signal, luck) => jittered(signal, luck, 0.01),
  'with 3 % of jitter': (signal, luck) => jittered(signal, luck, 0.03),
}

function jittered(signal: SensorSignal, luck: Chance, deviation: number): SensorSignal {
  const some = () => Math.exp(deviation * luck.normal())
  return {
    ...signal,
    features: signal.features.map((feature) => ({
      ...feature,
      acc_var: feature.acc_var * some(),
      gyro_var: feature.gyro_var * some(),
    })),
  }
}

if (import.meta.main)
  writeFileSync(FILE, `${JSON.stringify(measureRecordings(readRecordings()), null, 2)}\n`)
