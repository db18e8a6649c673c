import { existsSync, readFileSync } from 'node:fs'

/**
 * Moves the time of day of a service process: `--import` loads it, and `CLOCK_OFFSET_FILE` names a
 * file with the offset in milliseconds. Timers and the monotonic clock stay as they are, as on a
 * machine whose clock is set. The file is read each time, so that the clock is right from the
 * moment in which a test writes it. It may come to exist later, and is not removed.
 */
const file = process.env.CLOCK_OFFSET_FILE
if (file !== undefined) {
  const { now } = Date
  Date.now = () => now() + (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0)
}
