import type { SensorSignal } from '@bonded/contract'
import { fourDecimals } from './scoring.ts'

/** Names the model below. It stands in every evidence summary. */
export const CONTINUITY_MODEL = 'carry-v1'

/** Variance of acceleration, (m/s²)², above which a second was not spent on a table: sensor noise lies near 0.001. */
export const STILL_ACC_VAR = 0.01
/** The same for rotation rate, (rad/s)². */
export const STILL_GYRO_VAR = 0.0005
/** Shaking stronger than this is a machine or a fall, not carrying. */
export const WILD_ACC_VAR = 150
/** A window shorter than this says little, whatever it holds. */
export const FULL_WINDOW_MS = 30_000
/** One entry a second, give or take: a longer hole counts as time nobody vouches for. */
const MAX_GAP_MS = 2_500

export interface Continuity {
  readonly motionPresent: boolean
  readonly score: number
  readonly windowMs: number
  readonly samples: number
}

/** No signal: the phone proves nothing, and nothing is held against it. */
export const NO_CONTINUITY: Continuity = { motionPresent: false, score: 0, windowMs: 0, samples: 0 }

/**
 * How plainly a phone was carried by a person through the window: 0 to 1. The product of
 * coverage (seconds vouched for), carriage (seconds with motion of a person's kind), variety (a person never
 * repeats a second; a recording does) and handling (somebody took the phone in hand to approve).
 * The client's own opinion is never asked.
 */
export function scoreContinuity(signal: SensorSignal | undefined): Continuity {
  if (signal === undefined || signal.features.length === 0) return NO_CONTINUITY
  const { features, window_ms } = signal
  if (!isOrdered(signal)) return { motionPresent: false, score: 0, windowMs: window_ms, samples: features.length }

  const moving = features.filter(isCarried).length
  const carriage = moving / features.length
  const score = coverage(signal) * Math.min(1, carriage / 0.6) * variety(signal) * handling(signal)
  return { motionPresent: moving > 0, score: fourDecimals(score), windowMs: window_ms, samples: features.length }
}

function isCarried({ acc_var, gyro_var }: SensorSignal['features'][number]): boolean {
  return acc_var > STILL_ACC_VAR && gyro_var > STILL_GYRO_VAR && acc_var < WILD_ACC_VAR
}

function isOrdered({ features, window_ms }: SensorSignal): boolean {
  return features.every((feature, at) => feature.t_ms <= window_ms && (at === 0 || feature.t_ms > (features[at - 1]?.t_ms ?? 0)))
}

function coverage({ features, window_ms }: SensorSignal): number {
  let covered = 0
  for (const [at, feature] of features.entries()) {
    const next = features[at + 1]?.t_ms ?? window_ms
    covered += Math.min(next - feature.t_ms, MAX_GAP_MS)
  }
  return Math.min(1, covered / window_ms) * Math.min(1, window_ms / FULL_WINDOW_MS)
}

/** Keeps the two variances of a second apart in one number, so that comparing seconds makes no texts. */
const GYRO_APART = 7_919

/** The share of seconds that are not a copy of another. A person's are all different; half copies is a loop. */
function variety({ features }: SensorSignal): number {
  const distinct = new Set(features.map(({ acc_var, gyro_var }) => acc_var + GYRO_APART * gyro_var)).size
  return Math.min(1, distinct / features.length / 0.9)
}

/** A phone nobody touched before it approved was not approved by hand. */
function handling({ features }: SensorSignal): number {
  return features.some(({ handling: events }) => events > 0) ? 1 : 0.5
}
