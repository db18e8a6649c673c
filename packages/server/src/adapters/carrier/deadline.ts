import type { Clock } from '@bonded/core/ports/clock'
import { type CarrierResponse, unknown } from './carrier-response.ts'

/** The time by which a check must have its response. It aborts the calls that are still pending. */
export interface Deadline extends Disposable {
  readonly expiresAt: number
  readonly signal: AbortSignal
  /**
   * Resolves to the response or to `timeout`, whichever is first. A rejected promise becomes
   * `failed`.
   */
  race<T>(response: Promise<CarrierResponse<T>>): Promise<CarrierResponse<T>>
  /**
   * Waits until the time, in epoch milliseconds. Resolves to false at once if it is past the
   * deadline.
   */
  waitUntil(time: number): Promise<boolean>
}

export function deadlineIn(clock: Clock, budgetMs: number): Deadline {
  const expiresAt = clock.now() + budgetMs
  const aborter = new AbortController()
  const expired = Promise.withResolvers<void>()
  const cancel = clock.schedule(expiresAt, () => {
    aborter.abort()
    expired.resolve()
  })
  return {
    expiresAt,
    signal: aborter.signal,
    race: (response) =>
      Promise.race([
        response.catch(() => unknown('failed')),
        expired.promise.then(() => unknown('timeout')),
      ]),
    waitUntil(time) {
      if (time >= expiresAt) return Promise.resolve(false)
      const { promise, resolve } = Promise.withResolvers<boolean>()
      clock.schedule(time, () => resolve(true))
      return promise
    },
    [Symbol.dispose]() {
      cancel()
      aborter.abort()
    },
  }
}
