import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cancel, Clock } from '@bonded/core/ports/clock'

/** Node stores a timer's delay in 31 bits. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

interface Timer {
  readonly at: number
  readonly callback: () => void
  handle?: NodeJS.Timeout
}

/** The machine's clock, plus what it was advanced. It never goes back. */
export class SandboxClock implements Clock {
  #aheadMs: number
  readonly #timers = new Set<Timer>()

  /** @param aheadMs what it was advanced before this start */
  constructor(aheadMs = 0) {
    this.#aheadMs = aheadMs
  }

  get aheadMs(): number {
    return this.#aheadMs
  }

  now(): number {
    return Date.now() + this.#aheadMs
  }

  /** An advance is time that has elapsed, not a clock that was set. */
  elapsed(): number {
    return performance.now() + this.#aheadMs
  }

  schedule(at: number, callback: () => void): Cancel {
    const timer: Timer = { at, callback }
    this.#timers.add(timer)
    this.#start(timer)
    return () => {
      clearTimeout(timer.handle)
      this.#timers.delete(timer)
    }
  }

  /** Moves the clock forward. The timers that become due run next, in the order of their times. */
  advance(ms: number): void {
    this.#aheadMs += Math.max(0, ms)
    for (const timer of [...this.#timers].toSorted((a, b) => a.at - b.at)) {
      clearTimeout(timer.handle)
      this.#start(timer)
    }
  }

  #start(timer: Timer): void {
    const delayMs = Math.min(Math.max(0, timer.at - this.now()), LONGEST_DELAY_MS)
    timer.handle = setTimeout(() => {
      this.#timers.delete(timer)
      timer.callback()
    }, delayMs)
    timer.handle.unref()
  }
}

const FILE = 'clock.json'

/**
 * The clock of the sandbox with this data folder. What it was advanced outlasts a restart, because
 * the stored sessions would otherwise be of the future.
 */
export function storedClock(dataDir: string): SandboxClock {
  try {
    const stored = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as { ahead_ms: number }
    return new SandboxClock(stored.ahead_ms)
  } catch (failure) {
    if (failure instanceof Error && 'code' in failure && failure.code === 'ENOENT')
      return new SandboxClock()
    throw failure
  }
}

/** Stores what the clock was advanced. */
export function storeClock(dataDir: string, aheadMs: number): void {
  const file = join(dataDir, FILE)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  // Renaming makes the write atomic, even on a full disk.
  writeFileSync(`${file}.draft`, `${JSON.stringify({ ahead_ms: aheadMs })}\n`, { mode: 0o600 })
  renameSync(`${file}.draft`, file)
}
