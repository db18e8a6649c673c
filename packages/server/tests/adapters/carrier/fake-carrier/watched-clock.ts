import { TestClock } from '../../../../../../tests/harness/test-clock.ts'

/** A test clock on which a test can await scheduled timers. */
export class WatchedClock extends TestClock {
  readonly #scheduled: number[] = []
  readonly #waiting = new Set<() => void>()

  override schedule(at: number, callback: () => void) {
    const cancel = super.schedule(at, callback)
    this.#scheduled.push(at)
    for (const check of this.#waiting) check()
    return cancel
  }

  /** Resolves once a timer is scheduled for an earlier time. */
  async scheduledBefore(time: number): Promise<undefined> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const check = () => void (this.#scheduled.some((at) => at < time) && resolve())
    this.#waiting.add(check)
    await promise
    this.#waiting.delete(check)
    return undefined
  }

  /** Resolves once that many timers are scheduled for that time. */
  async awaited(at: number, times: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const check = () =>
      void (this.#scheduled.filter((scheduled) => scheduled === at).length >= times && resolve())
    this.#waiting.add(check)
    check()
    await promise
    this.#waiting.delete(check)
  }
}
