import { MIN_CONTINUITY_SCORE, type SensorSignal } from '@bonded/contract'
import { type Continuity, isCarried } from './continuity.ts'
import { LOCAL_AUTH_MAX_AGE_MS } from './lifetimes.ts'
import type { Instant } from './session.ts'

/** How many windows of a phone are stored: the newest that were worth storing. */
export const MAX_STORED_WINDOWS = 8
/** How many consecutive seconds one fingerprint covers. */
export const SECONDS_PER_FINGERPRINT = 3
/** Variances within one step count as equal, in natural logarithm: a step is 35 %. */
export const FINGERPRINT_STEP = 0.3
/** One match of a short window happens by chance. */
export const MIN_REPEATED_FINGERPRINTS = 2
/** The share of a window's fingerprints that match the window that it repeats. */
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
 * Returns what the fingerprints of a window hash: for each three consecutive carried seconds, the
 * steps of both variances, five bits each. A cut or slightly changed recording keeps most of them.
 * Seconds in which the phone lay still are alike in all windows, so they have none.
 */
export function motionPatternsOf({ features }: SensorSignal): readonly number[] {
  const patterns: number[] = []
  let pattern = 0
  let carried = 0
  for (const feature of features) {
    carried = isCarried(feature) ? carried + 1 : 0
    const levels = (levelOf(feature.acc_var) << LEVEL_BITS) | levelOf(feature.gyro_var)
    pattern = ((pattern << (2 * LEVEL_BITS)) | levels) & PATTERN_MASK
    if (carried >= SECONDS_PER_FINGERPRINT) patterns.push(pattern)
  }
  return patterns
}

const LEVEL_BITS = 5
const PATTERN_MASK = 2 ** (2 * LEVEL_BITS * SECONDS_PER_FINGERPRINT) - 1

/** The step of a variance. The steps begin again after 32, which is a factor of 15,000. */
function levelOf(variance: number): number {
  return Math.floor(Math.log(variance) / FINGERPRINT_STEP) & (2 ** LEVEL_BITS - 1)
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
 * requires that the phone was held or worn just now.
 *
 * @returns the memory with this window added; the same memory if a similar window is stored,
 * because replaying one window must not displace the others; or `repetition`
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
  return again >= Math.max(MIN_REPEATED_FINGERPRINTS, REPETITION_THRESHOLD * shown.size)
}
