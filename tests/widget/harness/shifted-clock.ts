import { TestClock } from '../../harness/test-clock.ts'
import type { Cancel } from '../../../packages/core/src/ports/clock.ts'

/** A clock that runs like the machine's, and that `advance` moves forward. */
export class ShiftedClock extends TestClock {
  #shiftMs = 0
  readonly #timers = new Map<() => void, { at: number; timer: ReturnType<typeof setTimeout> }>()

  override now(): number {
    return Date.now() + this.#shiftMs
  }

  override schedule(at: number, callback: () => void): Cancel {
    const cancel = () => {
      clearTimeout(this.#timers.get(act)?.timer)
      this.#timers.delete(act)
    }
    const act = () => {
      cancel()
      callback()
    }
    const timer = setTimeout(act, Math.max(0, at - this.now())).unref()
    this.#timers.set(act, { at, timer })
    return cancel
  }

  override advance(ms: number): void {
    this.#shiftMs += ms
    const due = [...this.#timers].filter(([, { at }]) => at <= this.now())
    for (const [act] of due.toSorted(([, a], [, b]) => a.at - b.at)) act()
  }
}
