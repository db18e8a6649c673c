import { MIN_CONTINUITY_SCORE, type SensorFeature, type SensorSignal } from '@bonded/contract'
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
  const count = features.length
  if (comparisons.length < count) comparisons = new Int32Array(count)
  // Each second is compared once with the five after it. A pattern combines the comparisons within
  // its six seconds.
  for (let index = 0; index < count; index++) comparisons[index] = compareWithNext(features, index)
  const patterns: number[] = []
  for (let first = 0; first + SECONDS_PER_FINGERPRINT <= count; first++) {
    let pattern = 0
    for (let index = 0; index < COMPARED; index++)
      pattern =
        (pattern << (2 * (COMPARED - index))) |
        ((comparisons[first + index] as number) >> (2 * index))
    patterns.push(pattern)
  }
  return patterns
}

const COMPARED = SECONDS_PER_FINGERPRINT - 1
/** Used again for every window. The usual one has one feature a second and lasts a minute. */
let comparisons = new Int32Array(64)

/**
 * Two bits for each of the next five seconds, nearest first: whether either sensor was livelier in
 * it.
 */
function compareWithNext(features: SensorSignal['features'], index: number): number {
  const { acc_var, gyro_var } = features[index] as SensorFeature
  let bits = 0
  for (let later = index + 1; later <= index + COMPARED; later++) {
    const other = later < features.length ? features[later] : undefined
    bits =
      (bits << 2) |
      (acc_var < (other?.acc_var ?? 0) ? 2 : 0) |
      (gyro_var < (other?.gyro_var ?? 0) ? 1 : 0)
  }
  return bits
}

/**
 * Whether the window would pass a policy. Other windows are worthless to an attacker, so storing
 * them would only displace useful ones.
 */
export function isWorthStoring({ score }: Continuity): boolean {
  return score >= MIN_CONTINUITY_SCORE
}

/**
 * Compares a window with those stored. It repeats a motion if it is similar to an old window.
 * Honest windows overlap with recent ones, so recent windows do not count; replaying one still
 * requires that the user carried the phone just now.
 *
 * @returns the memory with this window added; the same memory if a similar window is stored, because
 * replaying one window must not displace the others; or `repetition`
 */
export function compareWindow(
  shown: ReadonlySet<number>,
  { memory, windowMs, now }: { memory: MotionMemory; windowMs: number; now: Instant },
): MotionMemory | 'repetition' {
  let isStored = false
  for (const { at, fingerprints } of memory.windows) {
    if (!isAlike(shown, fingerprints)) continue
    if (now - at > windowMs + MAX_SIGNAL_AGE_MS) return 'repetition'
    isStored = true
  }
  if (isStored) return memory
  const windows = [...memory.windows, { at: now, fingerprints: [...shown] }]
  return { ...memory, windows: windows.slice(-MAX_STORED_WINDOWS) }
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
