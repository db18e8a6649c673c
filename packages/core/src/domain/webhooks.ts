import type { ATTEMPT_ERRORS, DELIVERY_STATES } from '@bonded/contract'
import type { Instant } from './session.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The wait before each attempt: ten attempts over 75 hours, as Standard Webhooks recommends. */
export const ATTEMPT_DELAYS_MS: readonly number[] = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]
/** So that deliveries that failed together do not return together. */
const JITTER = 0.1
/** No receiver delays a delivery for longer. */
export const MAX_RETRY_AFTER_MS = 24 * HOUR
/** So many failures in a row open the breaker of an endpoint. */
export const BREAKER_FAILURES = 5
/** The first pause of the breaker. It doubles with each failed probe. */
const BREAKER_PAUSE_MS = 30 * SECOND
const MAX_BREAKER_PAUSE_MS = HOUR

/** An attempt may take this long. */
export const ATTEMPT_TIMEOUT_MS = 15 * SECOND
/** A claimed delivery belongs to its node for this long: an attempt, and storing its result. */
export const CLAIM_MS = 60 * SECOND
/** An endpoint belongs to its node for this long after each claim: a bit longer than an attempt. */
export const LEASE_MS = 20 * SECOND
/** How long the log keeps a delivery. */
export const LOG_MS = 30 * 24 * HOUR
/** How long the former secret of an endpoint signs beside the new one. */
export const ROTATION_MS = 24 * HOUR
/** How long a link opens the portal. */
export const PORTAL_TTL_MS = 10 * MINUTE
/** How many secrets of an endpoint sign at once, after several rotations within that time. */
export const MAX_SECRETS = 3
/** Bounds the copies of an event, and the share of one tenant in the senders. */
export const MAX_ENDPOINTS = 10

/** Why an attempt got no response. */
export type AttemptError = (typeof ATTEMPT_ERRORS)[number]

/** What came of an attempt: a response, or the reason why there was none. */
export type AttemptResult =
  | {
      readonly status: number
      /** The beginning of the response, as text. */
      readonly body: string
      /** Milliseconds that the receiver wants the sender to wait. */
      readonly retryAfterMs?: number | undefined
    }
  | { readonly error: AttemptError }

/** A line of a delivery's log. */
export type Attempt = AttemptResult & { readonly at: Instant; readonly ms: number }

export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** What follows from an attempt for its delivery. */
export interface Verdict {
  readonly state: DeliveryState
  /** When the next attempt is due; null if there is none. */
  readonly dueAt: Instant | null
}

export function succeeded(result: AttemptResult): boolean {
  return 'status' in result && result.status >= 200 && result.status < 300
}

/** Whether the receiver wants no more deliveries. */
export function isGone(result: AttemptResult): boolean {
  return 'status' in result && result.status === 410
}

/**
 * Decides about a delivery after its attempt.
 *
 * @param attempt the number of the attempt, from 1
 * @param random from 0 to 1, for the jitter
 */
export function judgeAttempt(
  result: AttemptResult,
  { attempt, now, random }: { attempt: number; now: Instant; random: number },
): Verdict {
  if (succeeded(result)) return { state: 'delivered', dueAt: null }
  const delayMs = ATTEMPT_DELAYS_MS[attempt]
  if (delayMs === undefined) return { state: 'failed', dueAt: null }
  const jittered = delayMs * (1 - JITTER + 2 * JITTER * random)
  return { state: 'pending', dueAt: now + Math.round(Math.max(jittered, retryAfter(result))) }
}

/**
 * The breaker of an endpoint after some of its attempts have ended. However many fail, they count
 * as one failure, and as none if one of them succeeded: then only some events fail.
 *
 * @param before how often it failed in a row
 * @param attempts an attempt is late if the breaker has counted since it began. Its failure then
 *   says nothing new
 */
export function judgeEndpoint(
  before: number,
  attempts: readonly { readonly result: AttemptResult; readonly isLate: boolean }[],
  now: Instant,
): { readonly failures: number; readonly pausedUntil: Instant } {
  const hasSucceeded = attempts.some(({ result }) => succeeded(result))
  const isFailure = !hasSucceeded && attempts.some(({ isLate }) => !isLate)
  const failures = hasSucceeded ? 0 : before + (isFailure ? 1 : 0)
  const doublings = failures - BREAKER_FAILURES
  const pauseMs =
    !isFailure || doublings < 0
      ? 0
      : Math.min(BREAKER_PAUSE_MS * 2 ** doublings, MAX_BREAKER_PAUSE_MS)
  const longestMs = Math.max(pauseMs, ...attempts.map(({ result }) => retryAfter(result)))
  // Without a pause it stores no time: one of a clock that is ahead would be a pause.
  return { failures, pausedUntil: longestMs === 0 ? 0 : now + longestMs }
}

/** Attempts of a node at once, of all endpoints. It bounds memory and connections. */
export const MAX_ATTEMPTS = 1_024
/** Attempts of an endpoint at once. */
const MAX_PLACES = 32

/**
 * How many attempts an endpoint may have at once. One that fails gets one, as a probe. The fewer
 * are left, the fewer it gets, by the square of their share: 300 endpoints that hang leave places
 * for the next one.
 *
 * @param left the attempts that the other endpoints leave
 */
export function placesOf(failures: number, left: number): number {
  return failures === 0 ? Math.ceil(MAX_PLACES * (left / MAX_ATTEMPTS) ** 2) : 1
}

function retryAfter(result: AttemptResult): number {
  const ms = 'status' in result ? (result.retryAfterMs ?? 0) : 0
  return Math.min(ms, MAX_RETRY_AFTER_MS)
}
