import type { SensorFeature, SensorSignal } from '@bonded/contract'
import { fourDecimals } from './scoring.ts'
import { autocorrelation, correlation, stddev } from './series.ts'

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
  const { features } = signal
  if (scratch.acc.length < features.length) scratch = scratchFor(features.length)
  const { acc, gyro } = scratch
  let carried = 0
  let handled = false
  for (const feature of features) {
    if (!isCarried(feature)) continue
    acc[carried] = Math.log(feature.acc_var)
    gyro[carried++] = Math.log(feature.gyro_var)
    if (feature.handling > 0) handled = true
  }
  if (carried < MIN_CARRIED_SECONDS) return { ...nothing, motionPresent: carried > 0 }
  const score = productOfFactors(signal, { carried, handled })
  return { ...nothing, motionPresent: true, score: fourDecimals(score) }
}

/** Arrays that every window uses again, because allocating them costs more than the arithmetic. */
function scratchFor(length: number) {
  return {
    acc: new Float64Array(length),
    gyro: new Float64Array(length),
    accChanges: new Float64Array(length),
    gyroChanges: new Float64Array(length),
    ratioChanges: new Float64Array(length),
  }
}
/** The usual window has one feature a second and lasts a minute. */
let scratch = scratchFor(64)

/** @param of.carried how many seconds `scratch` has */
function productOfFactors(
  { window_ms, features }: SensorSignal,
  { carried, handled }: { carried: number; handled: boolean },
): number {
  const { acc, gyro, accChanges, gyroChanges, ratioChanges } = scratch
  const kinds = new Set<number>()
  for (let index = 0; index < carried; index++) {
    const lnAcc = acc[index] as number
    const lnGyro = gyro[index] as number
    kinds.add(step(lnAcc) + APART * step(lnGyro))
    if (index === 0) continue
    const ofAcc = lnAcc - (acc[index - 1] as number)
    const ofGyro = lnGyro - (gyro[index - 1] as number)
    accChanges[index - 1] = ofAcc
    gyroChanges[index - 1] = ofGyro
    ratioChanges[index - 1] = ofAcc - ofGyro
  }
  const changes = carried - 1
  const ofRatios = stddev(ratioChanges, changes)
  const { length, coverage, carriage, handling, variety } = CONTINUITY_FACTORS
  const { liveliness, agreement, looseness, steadiness, novelty } = CONTINUITY_FACTORS
  return (
    counted(window_ms, length) *
    counted(covered(features, window_ms) / window_ms, coverage) *
    counted(carried / features.length, carriage) *
    counted(handled ? 1 : 0, handling) *
    counted(kinds.size / carried, variety) *
    counted(stddev(acc, carried), liveliness) *
    counted(
      Math.max(correlation(acc, gyro, carried), correlation(accChanges, gyroChanges, changes)),
      agreement,
    ) *
    counted(ofRatios, looseness) *
    counted(ofRatios, steadiness) *
    counted(autocorrelation(accChanges, gyroChanges, changes), novelty)
  )
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
  let sum = 0
  for (let index = 0; index < features.length; index++) {
    const { t_ms } = features[index] as SensorFeature
    const untilMs = index + 1 < features.length ? features[index + 1]?.t_ms : undefined
    sum += Math.min((untilMs ?? window_ms) - t_ms, MAX_GAP_MS)
  }
  return sum
}
