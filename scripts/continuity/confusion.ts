import { MIN_CONTINUITY_SCORE, type SensorSignal } from '@bonded/contract'
import { motionFeatures, type MotionRecording } from '@bonded/phone'
import { scoreContinuity } from '../../packages/service/src/domain/continuity.ts'
import {
  compareWindow,
  type MotionMemory,
  isWorthStoring,
  rankPatternsOf,
  repeated,
} from '../../packages/service/src/domain/motion-memory.ts'
import { record, sensorGrade, type Stretch } from './body.ts'
import { CARRIED } from './carried.ts'
import { chance, type Chance } from './chance.ts'
import { DESK, NEARLY_DESK, takenUp } from './desk.ts'
import { EMULATORS, INFORMED } from './emulators.ts'
import { HARDER_REPLAYS, REPLAYS } from './replays.ts'

/**
 * Phones that a user carries, and phones that only look carried. `between` belongs to neither
 * class: it shows the limits of the model.
 */
export const CLASSES = ['carried', 'desk', 'replay', 'emulator', 'between'] as const
export type Class = (typeof CLASSES)[number]

/** The results for the windows of one kind. */
export interface Row {
  readonly of: Class
  readonly kind: string
  readonly windows: number
  /** Windows that meet the policy's `sensor_continuity`. */
  readonly accepted: number
}

/**
 * The numbers of the model were chosen on the first half. The published results come from the
 * second.
 */
export const HALVES = { chosenOn: 1, heldOut: 500_001 } as const
/** Enough for a resolution of one percent in a class, and few enough to run in seconds. */
const WINDOWS_A_KIND = 18
const DAY_MS = 86_400_000

/** Every kind of every class, with the same windows in every run. */
export function confusion(firstSeed: number): readonly Row[] {
  let seed = firstSeed
  const rows: Row[] = []
  const judge = (of: Class, kind: string, score: (luck: Chance, at: number) => number) => {
    const scores = Array.from({ length: WINDOWS_A_KIND }, (_, at) => score(chance(seed++), at))
    rows.push({
      of,
      kind,
      windows: scores.length,
      accepted: scores.filter((value) => value >= MIN_CONTINUITY_SCORE).length,
    })
  }
  const scoreOf = (signal: SensorSignal) => scoreContinuity(signal).score

  const recorded: { recording: MotionRecording; signal: SensorSignal }[] = []
  for (const [kind, stretches] of Object.entries(CARRIED)) {
    judge('carried', kind, (luck) => {
      const recording = recordingOf(stretches(luck), luck)
      const signal = featuresOf(recording)
      recorded.push({ recording, signal })
      return scoreOf(signal)
    })
  }
  for (const [kind, stretches] of Object.entries(DESK))
    judge('desk', kind, (luck) => scoreOf(featuresOf(recordingOf(stretches(luck), luck))))
  for (const [kind, stretches] of Object.entries(NEARLY_DESK))
    judge('between', kind, (luck) => scoreOf(featuresOf(recordingOf(stretches(luck), luck))))
  // A thief replays recordings that were accepted, of every kind.
  const worthy = recorded.filter(({ signal }) => isWorthStoring(scoreContinuity(signal)))
  const chosen = (at: number) =>
    worthy[(at * 37) % worthy.length] ?? {
      recording: { samples: [], touches_ms: [] },
      signal: { window_ms: 1_000, features: [] },
    }
  for (const [of, replays] of [
    ['replay', REPLAYS],
    ['between', HARDER_REPLAYS],
  ] as const) {
    for (const [kind, replay] of Object.entries(replays))
      judge(of, kind, (luck, at) => replayScore(chosen(at).signal, replay(chosen(at), luck)))
  }
  for (const [kind, script] of Object.entries(EMULATORS))
    judge('emulator', kind, (luck) => scoreOf(script(luck)))
  for (const [kind, script] of Object.entries(INFORMED))
    judge('between', kind, (luck) => scoreOf(script(luck)))
  for (const seconds of [5, 10, 15, 20, 30]) {
    judge('between', `from the desk, held for the last ${seconds} seconds`, (luck) =>
      scoreOf(featuresOf(recordingOf(takenUp(luck, seconds), luck))),
    )
  }
  return rows
}

/** The rows of a class, added up. */
export function total(
  rows: readonly Row[],
  of: Class,
): { readonly windows: number; readonly accepted: number } {
  const those = rows.filter((row) => row.of === of)
  return {
    windows: those.reduce((sum, { windows }) => sum + windows, 0),
    accepted: those.reduce((sum, { accepted }) => sum + accepted, 0),
  }
}

/**
 * The score of a window at a phone that sent the other one some days ago. Without a key the rank
 * patterns serve as the fingerprints themselves.
 */
function replayScore(before: SensorSignal, now: SensorSignal): number {
  const compare = (signal: SensorSignal, memory: MotionMemory, at: number) =>
    compareWindow(fingerprintsOf(signal), { memory, windowMs: signal.window_ms, now: at })
  const memory = compare(before, { keyId: 'k1', windows: [] }, 0)
  const continuity = scoreContinuity(now)
  return memory !== 'repetition' && compare(now, memory, 3 * DAY_MS) === 'repetition'
    ? repeated(continuity).score
    : continuity.score
}

function fingerprintsOf(signal: SensorSignal): ReadonlySet<number> {
  return new Set(rankPatternsOf(signal))
}

function recordingOf(stretches: readonly Stretch[], luck: Chance): MotionRecording {
  return record(stretches, { luck, grade: sensorGrade(luck) })
}

function featuresOf(recording: MotionRecording): SensorSignal {
  return motionFeatures(recording) ?? { window_ms: 1_000, features: [] }
}
