import type { Clock } from '../../ports/clock.ts'
import { type Answer, unknown } from './answer.ts'

/** When a check must have its answer. What is still under way then is broken off. */
export interface Deadline extends Disposable {
  readonly at: number
  readonly signal: AbortSignal
  /** The answer, or `timeout`, whichever is first. Never fails: what throws is answered as `failed`. */
  meet<T>(asked: Promise<Answer<T>>): Promise<Answer<T>>
  /** Waits until the time. False where that is past the deadline: it does not even begin then. */
  reaches(at: number): Promise<boolean>
}

export function deadlineIn(clock: Clock, budgetMs: number): Deadline {
  const at = clock.now() + budgetMs
  const aborter = new AbortController()
  const over = Promise.withResolvers<void>()
  const cancel = clock.schedule(at, () => {
    aborter.abort()
    over.resolve()
  })
  return {
    at,
    signal: aborter.signal,
    meet: (asked) =>
      Promise.race([
        asked.catch(() => unknown('failed')),
        over.promise.then(() => unknown('timeout')),
      ]),
    reaches(time) {
      if (time >= at) return Promise.resolve(false)
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
