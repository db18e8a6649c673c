import { backoffMs, spreadRetryAfterMs } from '@bonded/contract'
import type { Moment } from '../reducer.ts'
import type { Instant } from './snapshot.ts'

/**
 * The widget gives up after an outage of this length: longer than a tunnel, shorter than patience.
 */
const LOST_AFTER_MS = 30_000
/** The jitter keeps the pages of a restarted service from returning together. */
const POLICY = { firstMs: 300, factor: 2, longestMs: 5_000, jitter: 0.5 }

/** How often and since when the service has not responded. */
export interface Outage {
  readonly failures: number
  readonly since: Instant
  /** The service asked the widget to send nothing before this time. */
  readonly waitUntil: Instant
}

/** The service responds. */
export const NO_OUTAGE: Outage = { failures: 0, since: Infinity, waitUntil: 0 }

/** The outage after another failure. The service asked for a wait of so many milliseconds. */
export function failedAgain(
  { failures, since }: Outage,
  retryAfterMs: number,
  { now, random }: Moment,
): Outage {
  const waitUntil = now + spreadRetryAfterMs(retryAfterMs, () => random)
  return { failures: failures + 1, since: Math.min(since, now), waitUntil }
}

/** Whether the outage has lasted too long. */
export function isLost({ since }: Outage, now: Instant): boolean {
  return now - since > LOST_AFTER_MS
}

/** The delay before the next attempt, in milliseconds. */
export function delayMs({ failures, waitUntil }: Outage, { now, random }: Moment): number {
  return Math.max(
    backoffMs(POLICY, failures + 1, () => random),
    waitUntil - now,
  )
}
