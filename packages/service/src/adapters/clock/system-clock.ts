import type { Clock } from '../../ports/clock.ts'

/** Node keeps a timer's delay in 31 bits; a longer one would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(at, callback) {
    const delay = Math.min(Math.max(0, at - Date.now()), LONGEST_DELAY_MS)
    const timer = setTimeout(callback, delay)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
