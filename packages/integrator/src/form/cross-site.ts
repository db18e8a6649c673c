/** Reads a header by its lower-case name. */
export type ReadHeader = (name: string) => string | null | undefined

/**
 * Whether the page of another site sent this request. Its browser would add the user's cookies.
 * Browsers set `Sec-Fetch-Site` and `Origin` themselves; a program that sends neither has no
 * cookies of a user. `Host` decides only for browsers without `Sec-Fetch-Site`, because a proxy may
 * replace it.
 */
export function isCrossSite(header: ReadHeader, origins: readonly string[] = []): boolean {
  const origin = header('origin') ?? undefined
  if (origin !== undefined && origins.includes(origin)) return false
  const site = header('sec-fetch-site') ?? undefined
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  if (origin === undefined) return false
  return !URL.canParse(origin) || new URL(origin).host !== header('host')
}
