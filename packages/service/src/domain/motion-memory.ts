import { MIN_CONTINUITY_SCORE, type SensorSignal } from '@bonded/contract'
import type { Continuity } from './continuity.ts'
import { LOCAL_AUTH_MAX_AGE_MS } from './lifetimes.ts'
import type { Instant } from './session.ts'

/** How many windows of a phone are stored: the newest that were worth storing. */
export const MAX_STORED_WINDOWS = 8
/** How many consecutive seconds one fingerprint covers. */
export const SECONDS_PER_FINGERPRINT = 6
/**
 * Two users share one fingerprint in thirty by chance. A recording with 2 % of jitter keeps half.
 */
export const REPETITION_THRESHOLD = 0.2
/** A signal may wait on the phone for as long as a local authentication counts. */
const MAX_SIGNAL_AGE_MS = LOCAL_AUTH_MAX_AGE_MS

/**
 * The stored fingerprints of a phone's motion. They reveal only whether a motion occurred before,
 * not the motion itself.
 */
export interface MotionMemory {
  /** The root key of the fingerprints. */
  readonly keyId: string
  /** Oldest first. */
  readonly windows: readonly StoredWindow[]
}

export interface StoredWindow {
  readonly at: Instant
  readonly fingerprints: readonly number[]
}

/**
 * Returns the rank patterns that the fingerprints of a window hash. A pattern has 30 bits: for each
 * pair of six consecutive seconds, which one was calmer, for both sensors. A louder, quieter, cut
 * or slightly changed recording keeps most of its patterns.
 */
export function rankPatternsOf({ features }: SensorSignal): readonly number[] {
  const acc = features.map(({ acc_var }) => acc_var)
  const gyro = features.map(({ gyro_var }) => gyro_var)
  // Each second is compared once with the five after it. A pattern combines the comparisons within
  // its six seconds.
  const after = acc.map((_, at) => comparedWithNext(acc, gyro, at))
  const patterns: number[] = []
  for (let first = 0; first + SECONDS_PER_FINGERPRINT <= acc.length; first++) {
    let pattern = 0
    for (let at = 0; at < COMPARED; at++)
      pattern = (pattern << (2 * (COMPARED - at))) | ((after[first + at] ?? 0) >> (2 * at))
    patterns.push(pattern)
  }
  return patterns
}

const COMPARED = SECONDS_PER_FINGERPRINT - 1

/**
 * Two bits for each of the next five seconds, nearest first: whether either sensor was livelier in
 * it.
 */
function comparedWithNext(acc: readonly number[], gyro: readonly number[], at: number): number {
  let bits = 0
  for (let later = at + 1; later <= at + COMPARED; later++)
    bits = (bits << 2) | (rises(acc, at, later) ? 2 : 0) | (rises(gyro, at, later) ? 1 : 0)
  return bits
}

function rises(series: readonly number[], at: number, later: number): boolean {
  return (series[at] ?? 0) < (series[later] ?? 0)
}

/**
 * Whether the window would pass a policy. Other windows are worthless to an attacker, so storing
 * them would only displace useful ones.
 */
export function isWorthStoring({ score }: Continuity): boolean {
  return score >= MIN_CONTINUITY_SCORE
}

/**
 * Whether the phone has sent this motion before. Honest windows overlap with recent ones, so recent
 * windows do not count; replaying one still requires that the user carried the phone just now.
 */
export function isRepetition(
  shown: ReadonlySet<number>,
  { memory, windowMs, now }: { memory: MotionMemory; windowMs: number; now: Instant },
): boolean {
  return memory.windows.some(
    ({ at, fingerprints: known }) =>
      now - at > windowMs + MAX_SIGNAL_AGE_MS && isAlike(shown, known),
  )
}

/**
 * Returns the memory with this window added, unless a similar window is stored: replaying one
 * window cannot displace the others.
 */
export function withWindow(
  memory: MotionMemory,
  { at, fingerprints }: { at: Instant; fingerprints: ReadonlySet<number> },
): MotionMemory {
  if (memory.windows.some((known) => isAlike(fingerprints, known.fingerprints))) return memory
  return {
    ...memory,
    windows: [...memory.windows, { at, fingerprints: [...fingerprints] }].slice(
      -MAX_STORED_WINDOWS,
    ),
  }
}

/** Returns the result for a repetition, which proves nothing about the present. */
export function repeated(continuity: Continuity): Continuity {
  return { ...continuity, motionPresent: false, score: 0 }
}

function isAlike(shown: ReadonlySet<number>, known: readonly number[]): boolean {
  let again = 0
  for (const fingerprint of known) if (shown.has(fingerprint)) again++
  return shown.size > 0 && again >= REPETITION_THRESHOLD * shown.size
}
