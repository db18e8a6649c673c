import { TestClock } from '../../../harness/test-clock.ts'

/** The clock that is moved, which also tells what it was asked to wait for. */
export class WatchedClock extends TestClock {
  readonly #asked: number[] = []
  readonly #waiting = new Set<() => void>()

  override schedule(at: number, callback: () => void) {
    const cancel = super.schedule(at, callback)
    this.#asked.push(at)
    for (const look of this.#waiting) look()
    return cancel
  }

  /** When so many wait for that time. */
  async awaited(at: number, times: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = () =>
      void (this.#asked.filter((asked) => asked === at).length >= times && resolve())
    this.#waiting.add(look)
    look()
    await promise
    this.#waiting.delete(look)
  }
}
