import type { Cancel, Clock } from '@bonded/core/ports/clock'

/** Node stores a timer's delay in 31 bits. A longer delay would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  schedule: (at, callback) => scheduleIn(at - Date.now(), callback),
}

/** Calls back once after a time, in milliseconds. Does not keep the process alive. */
export function scheduleIn(ms: number, callback: () => void): Cancel {
  const timer = setTimeout(callback, Math.min(Math.max(0, ms), LONGEST_DELAY_MS))
  timer.unref()
  return () => clearTimeout(timer)
}
