/**
 * A time as clients write it: RFC 3339 in UTC, with no decimals or up to nine, and `Z` or `+00:00`.
 */
export const INSTANT =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)$/

/**
 * The milliseconds since the epoch of a time that a client sent; further decimals are cut off.
 * Undefined for any other text, and for a date that does not exist.
 *
 * @example parseInstant('2026-11-21T09:30:00+00:00') // 1795253400000
 */
export function parseInstant(text: string): number | undefined {
  const [, seconds, decimals = ''] = INSTANT.exec(text) ?? []
  if (seconds === undefined) return undefined
  // ECMAScript defines the reading of three decimals only.
  const written = `${seconds}.${decimals.slice(0, 3).padEnd(3, '0')}Z`
  const instant = Date.parse(written)
  // Date.parse may read February 30 as a day in March.
  return !Number.isNaN(instant) && new Date(instant).toISOString() === written ? instant : undefined
}
