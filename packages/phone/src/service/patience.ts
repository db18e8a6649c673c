import { isLost, PhoneError } from '../errors.ts'
import type { AbortSignalLike, PhoneClock } from '../ports.ts'

/** Waits between the tries of one call: three repetitions, within the time a person keeps looking at the phone. */
export const RETRY_DELAYS_MS = [250, 1_000, 3_000] as const
/** A service that asks for longer is not waited for: the code would be gone. */
const LONGEST_RETRY_AFTER_MS = 10_000

/**
 * Repeats an act whose answer was lost, and one that the service asked to repeat later (429, 503).
 * The act must be one that is safe to repeat; `tries` counts from 1.
 *
 * @throws what the last try threw
 */
export async function patiently<T>(
  act: (tries: number) => Promise<T>,
  { clock, signal }: { clock: PhoneClock; signal?: AbortSignalLike | undefined },
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act(tries)
    } catch (error) {
      const delayMs = RETRY_DELAYS_MS[tries - 1]
      if (delayMs === undefined || !isWorthRepeating(error)) throw error
      await pause(clock, { ms: Math.max(delayMs, error.retry_after_ms ?? 0), signal })
    }
  }
}

function isWorthRepeating(error: unknown): error is PhoneError {
  if (!(error instanceof PhoneError) || (error.retry_after_ms ?? 0) > LONGEST_RETRY_AFTER_MS)
    return false
  return isLost(error) || error.status === 429
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
  const { promise, resolve, reject } = Promise.withResolvers<void>()
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
  return promise
}
