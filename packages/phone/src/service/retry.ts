import { withRetry as repeat, type RetryPolicy } from '@bonded/contract'
import { isLost, isRejection, PhoneError } from '../errors.ts'
import type { AbortSignalLike, PhoneClock } from '../ports.ts'

/** Three repetitions, within the time that a user looks at the phone. */
export const RETRY_POLICY: RetryPolicy = {
  maxAttempts: 4,
  backoff: { firstMs: 250, factor: 4, longestMs: 3_000, jitter: 0 },
  // After a longer wait the QR code has expired.
  longestRetryAfterMs: 10_000,
}

interface Waiting {
  readonly clock: PhoneClock
  readonly signal?: AbortSignalLike | undefined
}

/**
 * Repeats an act after a lost response, and when the service asks to retry later (429, 503). The
 * act must be safe to repeat.
 *
 * @param act receives the number of the attempt, from 1
 * @throws what the last attempt threw, and {PhoneError} `cancelled`
 */
export function withRetry<T>(
  act: (attempt: number) => Promise<T>,
  { clock, signal }: Waiting,
): Promise<T> {
  return repeat(act, {
    policy: RETRY_POLICY,
    now: () => clock.now(),
    sleep: (ms) => pause(clock, { ms, signal }),
    retryable: (error) =>
      isRetryable(error) ? { retryAfterMs: (error as PhoneError).retry_after_ms } : undefined,
  })
}

/**
 * Whether a later attempt can succeed: no response, a failure of the service, or a request that
 * came too slowly or too often.
 */
export function isRetryable(error: unknown): boolean {
  if (isLost(error) || isRejection(error, 'request_timeout')) return true
  return error instanceof PhoneError && (error.status === 408 || error.status === 429)
}

/**
 * Resolves after the time on the injected clock.
 *
 * @throws {PhoneError} `cancelled`
 */
export function pause(
  clock: PhoneClock,
  { ms, signal }: { ms: number; signal?: AbortSignalLike | undefined },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(ms, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
    const abort = () => {
      cancel()
      reject(new PhoneError('cancelled'))
    }
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
  })
}
