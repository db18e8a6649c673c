import { readFileSync } from 'node:fs'

/**
 * Moves the time of day of a service process: `--import` loads it, and `CLOCK_OFFSET_FILE` names a
 * file with the offset in milliseconds. Timers and the monotonic clock stay as they are, as on a
 * machine whose clock is set.
 */
const READ_EVERY_MS = 50

const file = process.env.CLOCK_OFFSET_FILE
if (file !== undefined) {
  const { now } = Date
  let offset = 0
  const read = () => {
    try {
      offset = Number(readFileSync(file, 'utf8'))
    } catch {
      offset = 0
    }
  }
  read()
  setInterval(read, READ_EVERY_MS).unref()
  Date.now = () => now() + offset
}
