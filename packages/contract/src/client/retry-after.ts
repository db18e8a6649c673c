/**
 * The milliseconds of a `Retry-After` header: a number of seconds or an HTTP date. Undefined for
 * anything else.
 *
 * @param nowMs the time of day in milliseconds since 1970. A client whose clock does not show the
 * time of day omits it, and dates are then ignored.
 * @example parseRetryAfter('2') // 2000
 */
export function parseRetryAfter(header: string | null, nowMs = Number.NaN): number | undefined {
  const text = header ?? ''
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
