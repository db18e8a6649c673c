import { Rejected } from '../response/rejected.ts'

/** How often the limits are checked: an operation may take this much longer than its limit. */
export const CHECK_MS = 250

interface Limited {
  readonly endsMs: number
  readonly end: () => void
}

/**
 * Limits the time of operations. One timer serves all of them, because a timer for every request
 * costs more than the rest of the limit.
 */
export class TimeLimits {
  readonly #running = new Set<Limited>()
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined

  /** @param now milliseconds of a clock that only moves forward */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /**
   * Resolves with the response, or rejects as `operation_timeout` after the limit. The operation
   * itself continues, so the caller cannot know whether it takes effect.
   *
   * @throws {Rejected} if the response takes longer than `limitMs`
   */
  within<T>(response: Promise<T>, limitMs: number): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const limited: Limited = {
      endsMs: this.#now() + limitMs,
      end: () => reject(new Rejected({ reason: 'operation_timeout' })),
    }
    this.#running.add(limited)
    this.#timer ??= setInterval(() => this.check(), CHECK_MS).unref()
    response.then(
      (value) => {
        this.#running.delete(limited)
        resolve(value)
      },
      (failure: unknown) => {
        this.#running.delete(limited)
        reject(failure)
      },
    )
    return promise
  }

  /** Ends the operations whose time is over. The timer stops when none is running. */
  check(): void {
    const nowMs = this.#now()
    for (const limited of this.#running) {
      if (limited.endsMs > nowMs) continue
      this.#running.delete(limited)
      limited.end()
    }
    if (this.#running.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
