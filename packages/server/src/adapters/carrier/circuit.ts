import type { Clock } from '@bonded/core/ports/clock'
import type { CarrierResponse, UnknownReason } from './carrier-response.ts'

/** Consecutive outages that open the circuit. Fewer could be a transient failure. */
export const OUTAGES_TO_OPEN = 5
/** Long enough for a restart at the carrier; short enough that evidence is not missed for long. */
export const OPEN_MS = 30_000
/** The upper bound on a `Retry-After`. After it the circuit is half-open. */
const MAX_OPEN_MS = 600_000

/** The reasons that count as an outage. A rejection by the carrier shows that it is available. */
const OUTAGES: readonly UnknownReason[] = [
  'timeout',
  'unreachable',
  'server_error',
  'malformed_answer',
  'failed',
]

/** A circuit breaker: it stops calls to a carrier that does not respond. */
export interface Circuit {
  /** Whether a call may be made now. The caller must record the response of each admitted call. */
  admits(): boolean
  record(response: CarrierResponse<unknown>): void
}

/**
 * The circuit starts closed and opens after consecutive outages. Then it is half-open: it admits
 * one call, and the response closes or reopens it.
 */
export function circuit(clock: Clock): Circuit {
  let outages = 0
  let openUntil = 0
  let probing = false
  return {
    admits() {
      if (clock.now() < openUntil || probing) return false
      probing = openUntil > 0
      return true
    },
    record(response) {
      const wasProbe = probing
      probing = false
      if (!response.known && response.reason === 'rate_limited') {
        openUntil = clock.now() + Math.min(response.retryAfterMs ?? OPEN_MS, MAX_OPEN_MS)
      } else if (!response.known && OUTAGES.includes(response.reason)) {
        outages += 1
        if (wasProbe || outages >= OUTAGES_TO_OPEN) openUntil = clock.now() + OPEN_MS
      } else {
        outages = 0
        openUntil = 0
      }
    },
  }
}
