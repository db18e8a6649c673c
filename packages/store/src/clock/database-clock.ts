import { MAX_CLOCK_DIFFERENCE_MS } from '@bonded/core/domain/lifetimes'
import type { Cancel, Clock } from '@bonded/core/ports/clock'
import { scheduleIn } from './system-clock.ts'

/** The time of a database, in milliseconds since the epoch. */
export interface TimeReading {
  /** The clock of this machine before the database was asked. */
  readonly askedAt: number
  readonly databaseTime: number
}

export interface DatabaseClockOptions {
  /** Called when the clocks begin to differ by more than a second, and when they agree again. */
  readonly onDifference?: (aheadMs: number) => void
  /** The time of day of this machine, and a clock that is never set. */
  readonly machine?: { now(): number; elapsed(): number }
}

/** A machine's time of day that differs this much from the time elapsed was set. */
const STEP_MS = 500

const MACHINE = { now: () => Date.now(), elapsed: () => performance.now() }

/**
 * The clock of the database, which all nodes share: a node whose machine has a wrong time of day
 * ends no session early, and extends none. Between two readings it counts the time elapsed, also
 * while someone sets the clock of the machine.
 */
export class DatabaseClock implements Clock {
  readonly #machine: { now(): number; elapsed(): number }
  readonly #onDifference: (aheadMs: number) => void
  /** How far the machine is ahead of the database. */
  #aheadMs = 0
  /**
   * The machine's time of day less the time elapsed. Slow corrections of the clock change it too.
   */
  #base: number
  #differs = false
  /** The slowest reading since the figures were read last. */
  #roundTripMs = 0

  constructor({ onDifference = () => {}, machine = MACHINE }: DatabaseClockOptions = {}) {
    this.#onDifference = onDifference
    this.#machine = machine
    this.#base = machine.now() - machine.elapsed()
  }

  now(): number {
    return Math.floor(this.machineTime() - this.#aheadMs)
  }

  elapsed(): number {
    return this.#machine.elapsed()
  }

  /** The time of day of this machine, for a {@link TimeReading}. */
  machineTime(): number {
    const now = this.#machine.now()
    const base = now - this.#machine.elapsed()
    const step = base - this.#base
    this.#base = base
    if (Math.abs(step) > STEP_MS) this.#aheadMs += step
    return now
  }

  schedule(at: number, callback: () => void): Cancel {
    return scheduleIn(at - this.now(), callback)
  }

  /** How far the machine is ahead, and the slowest reading since the last call. */
  figures(): { readonly clockAheadMs: number; readonly roundTripMs: number } {
    const figures = { clockAheadMs: this.#aheadMs, roundTripMs: this.#roundTripMs }
    this.#roundTripMs = 0
    return figures
  }

  /** Takes a reading, whose response has just arrived. It corrects as little as it proves. */
  read({ askedAt, databaseTime }: TimeReading): void {
    const before = this.#aheadMs
    const arrivedAt = this.machineTime()
    // The clock was set while the database was asked, or the response has no time.
    if (this.#aheadMs !== before || !Number.isFinite(databaseTime)) return
    this.#roundTripMs = Math.max(this.#roundTripMs, arrivedAt - askedAt)
    const [least, most] = [askedAt - databaseTime, arrivedAt - databaseTime]
    this.#aheadMs = Math.min(Math.max(this.#aheadMs, least), most)
    const differs = Math.abs(this.#aheadMs) > MAX_CLOCK_DIFFERENCE_MS
    if (differs !== this.#differs) this.#onDifference(this.#aheadMs)
    this.#differs = differs
  }
}
