import type { Cancel, Clock } from '../../packages/core/src/ports/clock.ts'

/** A clock that only `advance` moves. */
export class TestClock implements Clock {
  #now = Date.parse('2026-11-21T09:30:00.000Z')
  #timers = new Set<{ at: number; callback: () => void }>()

  now(): number {
    return this.#now
  }

  schedule(at: number, callback: () => void): Cancel {
    const timer = { at, callback }
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
