import type { Clock } from '@bonded/core/ports/clock'

/** Node stores a timer's delay in 31 bits. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** The machine's clock, plus what a scenario has advanced it. */
export class MovingClock implements Clock {
  #aheadMs = 0

  now(): number {
    return Date.now() + this.#aheadMs
  }

  schedule(at: number, act: () => void): () => void {
    const delayMs = Math.min(Math.max(0, at - this.now()), LONGEST_DELAY_MS)
    const timer = setTimeout(act, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  }

  advance(ms: number): void {
    this.#aheadMs += ms
  }
}
