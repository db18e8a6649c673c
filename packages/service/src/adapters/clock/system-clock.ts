import type { Clock } from '../../ports/clock.ts'

/** Node stores a timer's delay in 31 bits. A longer delay would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(at, callback) {
    const delay = Math.min(Math.max(0, at - Date.now()), LONGEST_DELAY_MS)
    const timer = setTimeout(callback, delay)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
