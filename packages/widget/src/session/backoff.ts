import { backoffMs, spreadRetryAfterMs } from '@bonded/contract'
import type { Instant } from './snapshot.ts'

/**
 * The widget gives up after an outage of this length: longer than a tunnel, shorter than patience.
 */
const LOST_AFTER_MS = 30_000
/** The jitter keeps the pages of a restarted service from returning together. */
const POLICY = { firstMs: 300, factor: 2, longestMs: 5_000, jitter: 0.5 }

/** The state of an outage: how often and how long the service has not responded. */
export interface Backoff {
  /** The service responded. */
  readonly succeeded: () => void
  /** The service did not respond, or asked for a wait of so many milliseconds. */
  readonly failed: (now: Instant, retryAfterMs?: number) => void
  /** Whether the last attempt failed. */
  readonly isFailing: () => boolean
  /** Whether the outage has lasted too long. */
  readonly isLost: (now: Instant) => boolean
  /** How long the service asked the widget to wait from now, in milliseconds. */
  readonly retryAfterMs: (now: Instant) => number
  /** The delay before the next attempt, in milliseconds. */
  readonly delayMs: () => number
}

/** A backoff without a failure. */
export function createBackoff(): Backoff {
  let failures = 0
  let since: Instant | undefined
  let waitUntil: Instant = 0
  return {
    succeeded() {
      failures = 0
      since = undefined
      waitUntil = 0
    },
    failed(now, retryAfterMs = 0) {
      failures += 1
      since ??= now
      waitUntil = now + spreadRetryAfterMs(retryAfterMs)
    },
    isFailing: () => failures > 0,
    isLost: (now) => since !== undefined && now - since > LOST_AFTER_MS,
    retryAfterMs: (now) => Math.max(0, waitUntil - now),
    delayMs: () => backoffMs(POLICY, failures + 1),
  }
}
