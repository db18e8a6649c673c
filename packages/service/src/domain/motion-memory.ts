import { MIN_CONTINUITY_SCORE, type SensorSignal } from '@bonded/contract'
import type { Continuity } from './continuity.ts'
import { LOCAL_AUTH_MAX_AGE_MS } from './lifetimes.ts'
import type { Instant } from './session.ts'

/** So many windows of a phone are remembered: the newest that were worth repeating. */
export const WINDOWS_KEPT = 8
/** So many seconds in a row make one mark. */
export const SECONDS_A_MARK = 6
/** People share one mark in thirty by chance; a recording with 2 % of jitter keeps half of its own. */
export const REPEATED_FROM = 0.2
/** What a phone sends may have lain on it as long as its local authentication may. */
const MAX_LAIN_MS = LOCAL_AUTH_MAX_AGE_MS

/** What is kept of a phone's motion. Nothing of it tells how the phone was moved, only whether it was moved so before. */
export interface MotionMemory {
  /** The root key that the marks were made under. */
  readonly keyId: string
  /** Oldest first. */
  readonly windows: readonly RememberedWindow[]
}

export interface RememberedWindow {
  readonly at: Instant
  readonly marks: readonly number[]
}

/**
 * What is hashed into the marks of a window: for each six seconds in a row, which of any two was the calmer one, for
 * both sensors; 30 bits. Louder, quieter, cut or slightly changed, a recording keeps most of its orders.
 */
export function ordersOf({ features }: SensorSignal): readonly number[] {
  const acc = features.map(({ acc_var }) => acc_var)
  const gyro = features.map(({ gyro_var }) => gyro_var)
  // Each second is compared once with the five after it; six seconds then take as many of these as lie among them.
  const after = acc.map((_, at) => comparedWithNext(acc, gyro, at))
  const orders: number[] = []
  for (let first = 0; first + SECONDS_A_MARK <= acc.length; first++) {
    let order = 0
    for (let at = 0; at < COMPARED; at++)
      order = (order << (2 * (COMPARED - at))) | ((after[first + at] ?? 0) >> (2 * at))
    orders.push(order)
  }
  return orders
}

const COMPARED = SECONDS_A_MARK - 1

/** For each of the next five seconds, nearest first, two bits: whether it was the livelier one, by either sensor. */
function comparedWithNext(acc: readonly number[], gyro: readonly number[], at: number): number {
  let bits = 0
  for (let later = at + 1; later <= at + COMPARED; later++)
    bits = (bits << 2) | (rises(acc, at, later) ? 2 : 0) | (rises(gyro, at, later) ? 1 : 0)
  return bits
}

function rises(series: readonly number[], at: number, later: number): boolean {
  return (series[at] ?? 0) < (series[later] ?? 0)
}

/** Whether the window would pass a policy: no other is worth repeating, so no other is remembered, or pushes one out. */
export function isWorthRepeating({ score }: Continuity): boolean {
  return score >= MIN_CONTINUITY_SCORE
}

/**
 * Whether the phone was moved in this very way before. A window may honestly overlap with one that was sent not long
 * ago; and who repeats that one has carried the phone just now.
 */
export function isRepetition(
  shown: ReadonlySet<number>,
  { memory, windowMs, now }: { memory: MotionMemory; windowMs: number; now: Instant },
): boolean {
  return memory.windows.some(
    ({ at, marks: known }) => now - at > windowMs + MAX_LAIN_MS && isAlike(shown, known),
  )
}

/** The memory with this window in it, unless it holds it: sent again and again, one window pushes no other out. */
export function withWindow(
  memory: MotionMemory,
  { at, marks }: { at: Instant; marks: ReadonlySet<number> },
): MotionMemory {
  if (memory.windows.some((known) => isAlike(marks, known.marks))) return memory
  return { ...memory, windows: [...memory.windows, { at, marks: [...marks] }].slice(-WINDOWS_KEPT) }
}

/** A repetition shows nothing of now. */
export function repeated(continuity: Continuity): Continuity {
  return { ...continuity, motionPresent: false, score: 0 }
}

function isAlike(shown: ReadonlySet<number>, known: readonly number[]): boolean {
  let again = 0
  for (const mark of known) if (shown.has(mark)) again++
  return shown.size > 0 && again >= REPEATED_FROM * shown.size
}
