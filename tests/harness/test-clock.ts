import type { Cancel, Clock } from '../../packages/core/src/ports/clock.ts'

/** A clock that only `advance` moves, and that `set` sets without any time that elapses. */
export class TestClock implements Clock {
  #now = Date.parse('2026-11-21T09:30:00.000Z')
  #aheadMs = 0
  #timers = new Set<{ at: number; callback: () => void }>()

  now(): number {
    return this.#now + this.#aheadMs
  }

  elapsed(): number {
    return this.#now
  }

  /** Sets the time of day. Timers wait as long as before, as those of a machine do. */
  set(aheadMs: number): void {
    this.#aheadMs = aheadMs
  }

  schedule(at: number, callback: () => void): Cancel {
    const timer = { at: at - this.#aheadMs, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Moves the clock and runs the timers that become due, in order. */
  advance(ms: number): void {
    const target = this.#now + ms
    for (;;) {
      const [due] = [...this.#timers].filter(({ at }) => at <= target).sort((a, b) => a.at - b.at)
      if (due === undefined) break
      this.#timers.delete(due)
      this.#now = Math.max(this.#now, due.at)
      due.callback()
    }
    this.#now = target
  }
}
