import type { Clock } from '../../ports/clock.ts'
import type { Answer, Why } from './answer.ts'

/** So many outages in a row and the carrier is left alone: fewer would be a hiccup. */
export const OUTAGES_TO_OPEN = 5
/** Long enough for a restart at the carrier; short enough that evidence is not missed for long. */
export const OPEN_MS = 30_000
/** A carrier that asks for more is asked again all the same, one question at a time. */
const LONGEST_HOLD_MS = 600_000

/** What says that the other side is not well. A refusal, however firm, says that it is. */
const OUTAGES: readonly Why[] = [
  'timeout',
  'unreachable',
  'server_error',
  'malformed_answer',
  'failed',
]

/** Keeps us from waiting for one who does not answer, and him from our waiting. */
export interface Circuit {
  /** Whether one may ask now. Whoever was let through says what came of it, always. */
  admits(): boolean
  heard(answer: Answer<unknown>): void
}

/** Closed; open after outages in a row; then half-open: one question is let through, and its answer decides. */
export function circuit(clock: Clock): Circuit {
  let outages = 0
  let closedUntil = 0
  let probing = false
  return {
    admits() {
      if (clock.now() < closedUntil || probing) return false
      probing = closedUntil > 0
      return true
    },
    heard(answer) {
      const wasProbe = probing
      probing = false
      if (!answer.known && answer.why === 'rate_limited') {
        closedUntil = clock.now() + Math.min(answer.retryAfterMs ?? OPEN_MS, LONGEST_HOLD_MS)
      } else if (!answer.known && OUTAGES.includes(answer.why)) {
        outages += 1
        if (wasProbe || outages >= OUTAGES_TO_OPEN) closedUntil = clock.now() + OPEN_MS
      } else {
        outages = 0
        closedUntil = 0
      }
    },
  }
}
