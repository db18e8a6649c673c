import type { SensorFeature, SensorSignal } from '@bonded/contract'
import { fourDecimals } from './scoring.ts'
import { autocorrelation, correlation, differences, stddev } from './series.ts'

/** The name of the model below with all its numbers. Every evidence summary carries it. */
export const CONTINUITY_MODEL = 'carry-v2'

/**
 * The ranges in which a second counts as carried. Outside them, a hand or body is not what moves
 * the phone.
 */
export const CARRIED_SECOND = {
  /** (m/s²)². A phone on a table has noise near 0.001; values above 150 are a machine or a fall. */
  accVar: { above: 0.01, below: 150 },
  /**
   * (rad/s)². A desk shakes but does not turn: cheap sensors report below 0.0001, a hand above
   * 0.002.
   */
  gyroVar: { above: 0.0005, below: 150 },
  /**
   * acc_var / gyro_var. Turning a phone turns gravity in its frame, by at least 0.02 up to 11 Hz.
   * Above 300 the phone is shaken, not carried.
   */
  ratio: { above: 0.02, below: 300 },
} as const

/**
 * For each measure, the value that counts as 0 and the value that counts as 1; linear in between.
 */
interface Factor {
  readonly none: number
  readonly full: number
  readonly measure: string
}

/** The score is the product of these factors, so each factor can only lower it. */
export const CONTINUITY_FACTORS = {
  length: { none: 0, full: 30_000, measure: 'milliseconds in the window' },
  coverage: { none: 0, full: 1, measure: 'share of the window that its seconds cover' },
  carriage: { none: 0, full: 0.5, measure: 'share of the seconds in which the phone was carried' },
  handling: {
    none: -1,
    full: 1,
    measure:
      '1 if a carried second has a touch or rotation, else 0: halves the score when there was neither',
  },
  variety: {
    none: 0,
    full: 0.85,
    measure:
      'share of the carried seconds that do not copy another, in steps of 4 % of both variances',
  },
  liveliness: {
    none: 0.15,
    full: 0.3,
    measure: 'standard deviation of ln acc_var: noise and machines are even, users are not',
  },
  agreement: {
    none: 0.1,
    full: 0.35,
    measure:
      'correlation of ln acc_var and ln gyro_var, or of their changes: one hand moves both sensors',
  },
  looseness: {
    none: 0.2,
    full: 0.32,
    measure:
      'standard deviation of the changes of ln(acc_var / gyro_var): near 0, one was computed from the other',
  },
  steadiness: {
    none: 1.8,
    full: 1.4,
    measure: 'the same measure: if it is large, the two were generated independently',
  },
  novelty: {
    none: 0.8,
    full: 0.6,
    measure:
      'the strongest correlation of the changes with themselves, 3 or more seconds later: detects loops and waves',
  },
} as const satisfies Record<string, Factor>

/** With fewer carried seconds, their order proves nothing. */
export const MIN_CARRIED_SECONDS = 10
/** Signals have about one entry a second. A longer gap counts as time without evidence. */
export const MAX_GAP_MS = 2_500

export interface Continuity {
  readonly motionPresent: boolean
  readonly score: number
  readonly windowMs: number
  readonly samples: number
}

/** No signal: it proves nothing and does not count against the phone. */
export const NO_CONTINUITY: Continuity = { motionPresent: false, score: 0, windowMs: 0, samples: 0 }

/**
 * Scores from 0 to 1 how clearly a user carried the phone through the window. The client's own
 * score is ignored.
 */
export function scoreContinuity(signal: SensorSignal | undefined): Continuity {
  if (signal === undefined || signal.features.length === 0) return NO_CONTINUITY
  const nothing = {
    motionPresent: false,
    score: 0,
    windowMs: signal.window_ms,
    samples: signal.features.length,
  }
  if (!isSound(signal)) return nothing
  const carried = signal.features.filter(isCarried)
  if (carried.length < MIN_CARRIED_SECONDS) return { ...nothing, motionPresent: carried.length > 0 }

  const measures = measure(signal, carried)
  const factors = Object.entries(CONTINUITY_FACTORS).map(([name, factor]) =>
    counted(measures[name as keyof typeof measures], factor),
  )
  const score = factors.reduce((product, factor) => product * factor, 1)
  return { ...nothing, motionPresent: true, score: fourDecimals(score) }
}

function measure(
  { window_ms, features }: SensorSignal,
  carried: readonly SensorFeature[],
): Record<keyof typeof CONTINUITY_FACTORS, number> {
  const acc = carried.map(({ acc_var }) => Math.log(acc_var))
  const gyro = carried.map(({ gyro_var }) => Math.log(gyro_var))
  const [accChanges, gyroChanges] = [differences(acc), differences(gyro)]
  const ratioChanges = stddev(accChanges.map((change, at) => change - (gyroChanges[at] ?? 0)))
  const kinds = new Set(acc.map((lnAcc, at) => step(lnAcc) + APART * step(gyro[at] ?? 0)))
  return {
    length: window_ms,
    coverage: covered(features, window_ms) / window_ms,
    carriage: carried.length / features.length,
    handling: carried.some(({ handling }) => handling > 0) ? 1 : 0,
    variety: kinds.size / carried.length,
    liveliness: stddev(acc),
    agreement: Math.max(correlation(acc, gyro), correlation(accChanges, gyroChanges)),
    looseness: ratioChanges,
    steadiness: ratioChanges,
    novelty: autocorrelation(accChanges, gyroChanges),
  }
}

/**
 * Packs the steps of two variances into one number, so that comparing seconds allocates no strings.
 */
const APART = 10_000

/** The 4 % step that contains a variance. */
function step(lnVariance: number): number {
  return Math.round(25 * lnVariance)
}

function counted(value: number, { none, full }: Factor): number {
  return Math.max(0, Math.min(1, (value - none) / (full - none)))
}

function isCarried({ acc_var, gyro_var }: SensorFeature): boolean {
  const { accVar, gyroVar, ratio } = CARRIED_SECOND
  return (
    isWithin(acc_var, accVar) && isWithin(gyro_var, gyroVar) && isWithin(acc_var / gyro_var, ratio)
  )
}

function isWithin(value: number, { above, below }: { above: number; below: number }): boolean {
  return value > above && value < below
}

/**
 * Whether the values are plausible, in order and within the window. Otherwise the whole signal is
 * rejected.
 */
function isSound({ features, window_ms }: SensorSignal): boolean {
  if (!Number.isFinite(window_ms) || window_ms <= 0) return false
  let before = -1
  for (const { t_ms, acc_var, gyro_var, handling } of features) {
    if (!(isMeasured(t_ms) && isMeasured(acc_var) && isMeasured(gyro_var) && isMeasured(handling)))
      return false
    if (t_ms <= before || t_ms > window_ms) return false
    before = t_ms
  }
  return true
}

function isMeasured(value: number): boolean {
  return Number.isFinite(value) && value >= 0
}

function covered(features: readonly SensorFeature[], window_ms: number): number {
  return features.reduce(
    (sum, { t_ms }, at) => sum + Math.min((features[at + 1]?.t_ms ?? window_ms) - t_ms, MAX_GAP_MS),
    0,
  )
}
