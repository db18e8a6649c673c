import type { Instant } from './session.ts'

const MINUTE_MS = 60_000
const SECOND_MS = 1_000
const TWO_DIGITS = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'))
/**
 * Cached, because every session formats about twenty times and all times of a minute share a
 * prefix.
 */
let latest = { minute: Number.NaN, text: '' }

/** Formats milliseconds since the epoch in the wire's format. */
export function iso(instant: Instant): string {
  const minute = Math.floor(instant / MINUTE_MS)
  if (minute !== latest.minute)
    latest = {
      minute,
      text: new Date(minute * MINUTE_MS).toISOString().slice(0, -'00.000Z'.length),
    }
  const ms = instant - minute * MINUTE_MS
  const seconds = Math.floor(ms / SECOND_MS)
  const rest = ms - seconds * SECOND_MS
  return `${latest.text}${TWO_DIGITS[seconds]}.${rest < 100 ? String(rest).padStart(3, '0') : rest}Z`
}
