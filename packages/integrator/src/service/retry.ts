/** Enough to outlive the restart of one node behind a balancer. */
export const MAX_TRIES = 4
/** A person waits in front of the form meanwhile; longer than this they reload. */
export const TOTAL_MS = 8_000
/** The service itself gives up a request after 8 s; four tries must fit into the same time. */
export const TRY_TIMEOUT_MS = 3_000
const FIRST_BACKOFF_MS = 200
const MAX_BACKOFF_MS = 2_000

/**
 * Exponential back-off with full jitter: a random part of a window that doubles, so that many
 * backends that failed together do not come back together.
 *
 * @param triesMade at least 1
 * @param chance from 0 up to but not including 1
 */
export function backoffMs(triesMade: number, chance: number): number {
  const windowMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (triesMade - 1))
  return Math.floor(chance * windowMs)
}

/** How long to wait before the next try; undefined when there is none. */
export function nextTryMs(facts: {
  readonly triesMade: number
  readonly elapsedMs: number
  readonly chance: number
  readonly retryAfterMs: number | undefined
}): number | undefined {
  const waitMs = Math.max(backoffMs(facts.triesMade, facts.chance), facts.retryAfterMs ?? 0)
  return facts.triesMade >= MAX_TRIES || facts.elapsedMs + waitMs >= TOTAL_MS ? undefined : waitMs
}

/** The milliseconds of a Retry-After header: seconds, or a date. Undefined for anything else. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
