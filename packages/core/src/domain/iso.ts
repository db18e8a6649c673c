import { parseInstant } from '@bonded/contract'
import type { Instant } from './session.ts'

const MINUTE_MS = 60_000
const SECOND_MS = 1_000
const TWO_DIGITS = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'))
/**
 * The prefixes of recent minutes. A response formats the present, the end of its challenge and the
 * end of its session, so one cached minute would be replaced with every time.
 */
const SLOTS = 16
const minutes = new Float64Array(SLOTS).fill(Number.NaN)
const prefixes = Array.from({ length: SLOTS }, () => '')

/** Formats milliseconds since the epoch in the wire's format. */
export function iso(instant: Instant): string {
  const minute = Math.floor(instant / MINUTE_MS)
  const slot = minute & (SLOTS - 1)
  if (minute !== minutes[slot]) {
    prefixes[slot] = new Date(minute * MINUTE_MS).toISOString().slice(0, -'00.000Z'.length)
    minutes[slot] = minute
  }
  const ms = instant - minute * MINUTE_MS
  const seconds = Math.floor(ms / SECOND_MS)
  const rest = ms - seconds * SECOND_MS
  return `${prefixes[slot]}${TWO_DIGITS[seconds]}.${rest < 100 ? String(rest).padStart(3, '0') : rest}Z`
}

/** Formats a time that may be absent. */
export function isoOrNull(instant: Instant | null | undefined): string | null {
  return typeof instant === 'number' ? iso(instant) : null
}

/** Reads a validated time of a request. Any other text is NaN, which every comparison rejects. */
export function instantOf(text: string): Instant {
  return parseInstant(text) ?? Number.NaN
}
