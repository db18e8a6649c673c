import type { Cancel, PhoneClock } from '../src/index.ts'

/** A clock that moves only when a test advances it. */
export interface MovedClock extends PhoneClock {
  advance(ms: number): void
  /** How many acts wait. */
  readonly scheduled: number
}

export function movedClock(startMs = 0): MovedClock {
  let now = startMs
  let waiting: { at: number; act: () => void }[] = []
  return {
    now: () => now,
    schedule(delayMs, act): Cancel {
      const entry = { at: now + delayMs, act }
      waiting.push(entry)
      return () => {
        waiting = waiting.filter((other) => other !== entry)
      }
    },
    advance(ms) {
      now += ms
      const due = waiting.filter(({ at }) => at <= now)
      waiting = waiting.filter(({ at }) => at > now)
      for (const { act } of due) act()
    },
    get scheduled() {
      return waiting.length
    },
  }
}

/** A clock that jumps to whatever is waited for, so that no test waits. */
export function jumpingClock(
  startMs = 0,
): PhoneClock & { readonly waits: readonly number[]; advance(ms: number): void } {
  let now = startMs
  const waits: number[] = []
  return {
    now: () => now,
    waits,
    advance: (ms) => void (now += ms),
    schedule(delayMs, act) {
      let cancelled = false
      // A turn of the loop, not a microtask: whatever else is due gets its chance.
      setImmediate(() => {
        if (cancelled) return
        waits.push(delayMs)
        now += delayMs
        act()
      })
      return () => void (cancelled = true)
    },
  }
}
