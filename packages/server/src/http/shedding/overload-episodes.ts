import type { Logger } from 'pino'
import type { Priority } from './priority.ts'
import type { Standing } from './waiting-requests.ts'

/** An overload is over after this long without a rejection. */
export const QUIET_MS = 5_000

/**
 * Logs each overload with two lines: when the service begins to reject requests, and when it has
 * stopped. A line for each request would cost more than the request.
 */
export class OverloadEpisodes implements Disposable {
  readonly #log: Logger
  readonly #now: () => number
  #startedMs: number | undefined
  #latestMs = 0
  #counts: Partial<Record<Priority | Standing, number>> = {}
  #timer: NodeJS.Timeout | undefined

  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  /** Counts a rejected request. */
  count(priority: Priority, standing: Standing): void {
    this.#latestMs = this.#now()
    if (this.#startedMs === undefined) {
      this.#startedMs = this.#latestMs
      this.#log.warn({ priority, caller: standing }, 'overload: requests are rejected')
      this.#timer = setInterval(() => this.check(), QUIET_MS).unref()
    }
    this.#counts[priority] = (this.#counts[priority] ?? 0) + 1
    this.#counts[standing] = (this.#counts[standing] ?? 0) + 1
  }

  /** Ends the episode if it is over. A timer calls it. */
  check(): void {
    if (this.#startedMs === undefined || this.#now() - this.#latestMs < QUIET_MS) return
    this.#end()
  }

  [Symbol.dispose](): void {
    if (this.#startedMs !== undefined) this.#end()
  }

  #end(): void {
    clearInterval(this.#timer)
    const ms = Math.round(this.#latestMs - (this.#startedMs ?? this.#latestMs))
    this.#startedMs = undefined
    this.#log.warn({ ms, rejected: this.#counts }, 'overload ended')
    this.#counts = {}
  }
}
