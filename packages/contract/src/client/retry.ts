import { type BackoffPolicy, backoffMs } from './backoff.ts'

/** When a client sends a request again, and when it gives up. */
export interface RetryPolicy {
  readonly maxAttempts: number
  readonly backoff: BackoffPolicy
  /** Give up when the service asks for a longer wait than this, in milliseconds. */
  readonly longestRetryAfterMs?: number
  /** No further attempt starts once this many milliseconds have passed since the first one. */
  readonly totalMs?: number
}

/** A failed attempt. */
export interface FailedAttempt {
  /** The number of attempts made, at least 1. */
  readonly attempt: number
  /** Milliseconds since the first attempt started. */
  readonly elapsedMs: number
  /** The wait that the service asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined
}

/**
 * Whether a status invites a client to try again: 429, and every failure of the service (5xx).
 *
 * @example isRetryableStatus(503) // true
 */
export function isRetryableStatus(status: number): boolean {
  return status === 429 || status >= 500
}

/** A wait that the service asks for becomes up to so much longer. */
const RETRY_AFTER_SPREAD = 0.5

/**
 * The wait that a client takes where the service asks for one, in milliseconds: never shorter, and
 * up to a half longer, so that the clients of an overloaded service do not return together.
 *
 * @param random a number from 0 up to but not including 1
 * @example spreadRetryAfterMs(2000, () => 0.5) // 2500
 */
export function spreadRetryAfterMs(
  retryAfterMs: number,
  random: () => number = Math.random,
): number {
  return Math.round(retryAfterMs * (1 + RETRY_AFTER_SPREAD * random()))
}

/** The wait before the next attempt, in milliseconds; undefined when the client gives up. */
export function nextDelayMs(
  policy: RetryPolicy,
  { attempt, elapsedMs, retryAfterMs = 0 }: FailedAttempt,
  random?: () => number,
): number | undefined {
  const asked = retryAfterMs === 0 ? 0 : spreadRetryAfterMs(retryAfterMs, random)
  const delayMs = Math.max(backoffMs(policy.backoff, attempt, random), asked)
  const { longestRetryAfterMs = Infinity, totalMs = Infinity } = policy
  const givesUp =
    attempt >= policy.maxAttempts ||
    retryAfterMs > longestRetryAfterMs ||
    elapsedMs + delayMs >= totalMs
  return givesUp ? undefined : delayMs
}

/** The policy and the dependencies of {@link withRetry}. */
export interface RetryOptions {
  readonly policy: RetryPolicy
  /** Milliseconds since any moment. */
  readonly now: () => number
  /** Resolves after this many milliseconds. It may reject to cancel the call. */
  readonly sleep: (ms: number) => Promise<void>
  /** A number from 0 up to but not including 1, for the jitter. */
  readonly random?: () => number
  /** The failure as the retry rules see it; undefined for one that a retry cannot help. */
  readonly retryable: (error: unknown) => { readonly retryAfterMs?: number | undefined } | undefined
}

/**
 * Runs an act until it succeeds, fails for good, or the policy gives up. The act must be safe to
 * repeat.
 *
 * @param act receives the number of this attempt, from 1, and the milliseconds since the first
 * @throws what the last attempt threw, and what `sleep` throws
 */
export async function withRetry<T>(
  act: (attempt: number, elapsedMs: number) => Promise<T>,
  { policy, now, sleep, random, retryable }: RetryOptions,
): Promise<T> {
  const startedMs = now()
  for (let attempt = 1; ; attempt++) {
    try {
      return await act(attempt, now() - startedMs)
    } catch (error) {
      const failure = retryable(error)
      const delayMs =
        failure &&
        nextDelayMs(policy, { ...failure, attempt, elapsedMs: now() - startedMs }, random)
      if (delayMs === undefined) throw error
      await sleep(delayMs)
    }
  }
}
