import type { SensorFeature, SensorSignal } from '@bonded/contract'
import { fourDecimals } from './scoring.ts'

/** The name of the model below with all its numbers. Every evidence summary carries it. */
export const CONTINUITY_MODEL = 'carry-v3'

/**
 * The ranges in which a second counts as carried. Outside them, a hand or body is not what moves
 * the phone.
 */
export const CARRIED_SECOND = {
  /** (m/s²)². A still hand reads 0.001 or more, but so does the sensor of a phone on a table. */
  accVar: { above: 0.001, below: 300 },
  /**
   * (rad/s)². A table shakes but does not turn: a phone on it reads 0.000003, and up to 0.00008
   * beside a keyboard. A still hand reads 0.0004 or more.
   */
  gyroVar: { above: 0.0001, below: 150 },
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
  length: { none: 3_000, full: 7_000, measure: 'milliseconds in the window' },
  carriage: { none: 0, full: 0.5, measure: 'carried seconds, as a share of the window' },
  liveliness: {
    none: 0.1,
    full: 0.225,
    measure:
      'mean of the standard deviations of ln acc_var and ln gyro_var over the carried seconds: noise and machines are even',
  },
  irregularity: {
    none: 0.1,
    full: 0.2,
    measure:
      'how far the seconds are from what their neighbors predict: 0 for a wave, near 1 for unrelated seconds',
  },
} as const satisfies Record<string, Factor>

/** The least carried seconds: with fewer, how they differ proves nothing. */
export const MIN_CARRIED_SECONDS = 5

export interface Continuity {
  readonly motionPresent: boolean
  readonly score: number
  readonly windowMs: number
  readonly samples: number
}

/** No signal: it proves nothing and does not count against the phone. */
export const NO_CONTINUITY: Continuity = { motionPresent: false, score: 0, windowMs: 0, samples: 0 }

/**
 * Scores from 0 to 1 how clearly the phone was held or worn during the window, and not lying still.
 * The client's own score is ignored.
 */
export function scoreContinuity(signal: SensorSignal | undefined): Continuity {
  if (signal === undefined || signal.features.length === 0) return NO_CONTINUITY
  const { features, window_ms } = signal
  const nothing = {
    motionPresent: false,
    score: 0,
    windowMs: window_ms,
    samples: features.length,
  }
  if (!isSound(signal)) return nothing
  const carried = features.filter(isCarried)
  if (carried.length < MIN_CARRIED_SECONDS) return { ...nothing, motionPresent: carried.length > 0 }
  const { length, carriage, liveliness, irregularity } = CONTINUITY_FACTORS
  const score =
    counted(window_ms, length) *
    counted((carried.length * 1_000) / window_ms, carriage) *
    counted(livelinessOf(carried), liveliness) *
    counted(irregularityOf(features), irregularity)
  return { ...nothing, motionPresent: true, score: fourDecimals(score) }
}

/** Whether the second can come from a phone in a hand or on a body. */
export function isCarried({ acc_var, gyro_var }: SensorFeature): boolean {
  const { accVar, gyroVar, ratio } = CARRIED_SECOND
  return (
    isWithin(acc_var, accVar) && isWithin(gyro_var, gyroVar) && isWithin(acc_var / gyro_var, ratio)
  )
}

function counted(value: number, { none, full }: Factor): number {
  return Math.max(0, Math.min(1, (value - none) / (full - none)))
}

function isWithin(value: number, { above, below }: { above: number; below: number }): boolean {
  return value > above && value < below
}

const SENSORS = ['acc_var', 'gyro_var'] as const

function livelinessOf(seconds: readonly SensorFeature[]): number {
  const spread = (sensor: (typeof SENSORS)[number]) =>
    Math.sqrt(varianceOf(seconds.map((second) => Math.log(second[sensor]))))
  return (spread('acc_var') + spread('gyro_var')) / 2
}

/**
 * The variances of a wave, second by second, are a wave too, in which the neighbors of a second
 * always add up to the same multiple of it. Returns what the best multiple leaves over, relative to
 * seconds that are unrelated.
 */
function irregularityOf(seconds: readonly SensorFeature[]): number {
  const pairs: { second: number; neighbors: number }[] = []
  for (const sensor of SENSORS) {
    const values = seconds.map((second) => second[sensor])
    const deviation = Math.sqrt(varianceOf(values))
    if (deviation === 0) continue
    const inner = values.slice(1, -1).map((value, index) => ({
      second: value / deviation,
      neighbors: ((values[index] ?? 0) + (values[index + 2] ?? 0)) / deviation,
    }))
    const center = { second: meanOf(inner, 'second'), neighbors: meanOf(inner, 'neighbors') }
    for (const { second, neighbors } of inner)
      pairs.push({ second: second - center.second, neighbors: neighbors - center.neighbors })
  }
  let [ofSecond, ofBoth] = [0, 0]
  for (const { second, neighbors } of pairs) {
    ofSecond += second * second
    ofBoth += second * neighbors
  }
  // For a wave it is twice a cosine.
  const multiple = ofSecond === 0 ? 0 : Math.max(-2, Math.min(2, ofBoth / ofSecond))
  let left = 0
  for (const { second, neighbors } of pairs) left += (neighbors - multiple * second) ** 2
  return pairs.length === 0 ? 0 : Math.sqrt(left / pairs.length / (2 + multiple * multiple))
}

function meanOf<Member extends string>(
  rows: readonly Readonly<Record<Member, number>>[],
  member: Member,
): number {
  let sum = 0
  for (const row of rows) sum += row[member]
  return sum / rows.length
}

function varianceOf(values: readonly number[]): number {
  let sum = 0
  for (const value of values) sum += value
  const mean = sum / values.length
  let squares = 0
  for (const value of values) squares += (value - mean) ** 2
  return squares / values.length
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
