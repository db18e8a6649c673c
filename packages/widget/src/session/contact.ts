import type { Instant } from './read.ts'

/** Out of contact for longer than this, the widget gives up: a tunnel is shorter, patience is not longer. */
const LOST_AFTER_MS = 30_000
const FIRST_BACKOFF_MS = 300
const LONGEST_BACKOFF_MS = 5_000

/** Whether the service can be reached, as far as the last tries tell. */
export interface Contact {
  readonly heard: () => void
  /** The service did not answer, or said how long to leave it alone. */
  readonly missed: (now: Instant, restMs?: number) => void
  /** Whether the last try failed. */
  readonly isBroken: () => boolean
  /** Whether it has failed for too long. */
  readonly isLost: (now: Instant) => boolean
  /** How long the service must still be left alone. */
  readonly restMs: (now: Instant) => number
  /** How long to wait before the next try. */
  readonly backoffMs: () => number
}

/** Contact that has not failed yet. */
export function contact(): Contact {
  let misses = 0
  let since: Instant | undefined
  let restUntil: Instant = 0
  return {
    heard() {
      misses = 0
      since = undefined
      restUntil = 0
    },
    missed(now, restMs = 0) {
      misses += 1
      since ??= now
      restUntil = now + restMs
    },
    isBroken: () => misses > 0,
    isLost: (now) => since !== undefined && now - since > LOST_AFTER_MS,
    restMs: (now) => Math.max(0, restUntil - now),
    // Jitter keeps the pages of a restarted service from coming back as one.
    backoffMs: () =>
      Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** misses) * (0.5 + Math.random() / 2),
  }
}
