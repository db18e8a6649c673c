import type { Instant } from '../environment.ts'
import {
  GOOGLE_STATUS_URL,
  isRevoked,
  readStatusList,
  revokedSerials,
  type StatusList,
} from '../android/status-list.ts'

/**
 * How long a stale list stays usable, so that a weekend outage at Google blocks no registration.
 */
export const REVOCATION_GRACE_MS = 72 * 3_600_000
/** The age limit for a response without `max-age`. */
const DEFAULT_MAX_AGE_MS = 3_600_000
/** Bounds on `max-age`: no fetch at every registration, and at least one fetch a day. */
const MIN_AGE_MS = 60_000
const MAX_AGE_MS = 24 * 3_600_000
/** The pause between attempts after a failure, so that not every registration waits for one. */
const RETRY_AFTER_MS = 30_000
/** How long a registration waits for the first list. */
const FETCH_WITHIN_MS = 5_000
/** The list had some 50 entries in its first years; this leaves room for 50,000. */
const MAX_LIST_BYTES = 4 * 1024 * 1024

/** The part of `fetch` that this module uses. */
export type FetchText = (
  url: string,
  options: { readonly signal: AbortSignal; readonly redirect: 'error' },
) => Promise<{
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}>

/** Where the list comes from. */
export interface RevocationSource {
  /** Default: the `fetch` of the runtime. */
  readonly fetch?: FetchText
  /** The clock, in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => Instant
  /** Serials that count as revoked whatever Google returns, also before the first fetch. */
  readonly snapshot?: ReadonlySet<string>
  /** Default: `GOOGLE_STATUS_URL`. */
  readonly url?: string
  /** How long a stale list stays usable. Default: `REVOCATION_GRACE_MS`. */
  readonly graceMs?: number
  /** Called for each fetch that failed, and for each list with entries that were skipped. */
  readonly onFailure?: (failure: unknown) => void
}

/** The check of serial numbers against Google's list. */
export interface RevocationList {
  /**
   * Checks all serial numbers of a chain, in hex.
   *
   * @returns `unknown` when the list is too old to report `good`: reject the key then, too. Fails
   *   only for a text that is not a serial number, and takes no longer than one fetch.
   */
  check(serials: readonly string[]): Promise<'good' | 'revoked' | 'unknown'>
}

interface FetchedList {
  readonly serials: ReadonlySet<string>
  readonly freshUntil: Instant
  readonly usableUntil: Instant
}

/**
 * Google's list, fetched on demand and cached as long as its `Cache-Control` allows. If a fetch
 * fails, the cached list stays usable for the grace period. After that, every serial that is not
 * revoked is `unknown`. Concurrent callers share one fetch.
 *
 * @example
 * import { googleRevocations } from '@bonded/attestation/revocations'
 *
 * // Without arguments, the list comes from Google.
 * const revocations = googleRevocations({
 *   fetch: async () => Response.json({ entries: { ab01: { status: 'REVOKED' } } }),
 * })
 * console.log(await revocations.check(['7', 'ab01'])) // revoked
 */
export function googleRevocations(source: RevocationSource = {}): RevocationList {
  const { now: currentTime = Date.now, graceMs = REVOCATION_GRACE_MS } = source
  const snapshot = revokedSerials(source.snapshot ?? [])
  let list: FetchedList | undefined
  let fetching: Promise<void> | undefined
  let nextTryAt = Number.NEGATIVE_INFINITY

  const refresh = async (): Promise<void> => {
    try {
      const { serials, malformedEntries, maxAgeMs } = await fetchList(source)
      const freshUntil = currentTime() + maxAgeMs
      list = { serials, freshUntil, usableUntil: freshUntil + graceMs }
      if (malformedEntries > 0)
        source.onFailure?.(
          new Error(
            `the revocation list has ${malformedEntries} malformed entries, which were skipped`,
          ),
        )
    } catch (failure) {
      nextTryAt = currentTime() + RETRY_AFTER_MS
      source.onFailure?.(failure)
    } finally {
      fetching = undefined
    }
  }

  return {
    async check(serials) {
      const now = currentTime()
      if (now >= (list?.freshUntil ?? Number.NEGATIVE_INFINITY) && now >= nextTryAt)
        fetching ??= refresh()
      // Within the grace period the cached list is used at once, while the fetch continues.
      if (fetching !== undefined && !isUsable(list, now)) await fetching
      if (
        serials.some(
          (serial) =>
            isRevoked(snapshot, serial) || (list !== undefined && isRevoked(list.serials, serial)),
        )
      )
        return 'revoked'
      return isUsable(list, currentTime()) ? 'good' : 'unknown'
    },
  }
}

function isUsable(list: FetchedList | undefined, now: Instant): boolean {
  return list !== undefined && now < list.usableUntil
}

async function fetchList({
  fetch = globalThis.fetch,
  url = GOOGLE_STATUS_URL,
}: RevocationSource): Promise<StatusList & { maxAgeMs: number }> {
  const response = await fetch(url, {
    signal: AbortSignal.timeout(FETCH_WITHIN_MS),
    redirect: 'error',
  })
  if (response.status !== 200)
    throw new Error(`the revocation list responded with ${response.status}`)
  const text = await response.text()
  const list = text.length <= MAX_LIST_BYTES ? readStatusList(text) : undefined
  if (list === undefined) throw new Error('the revocation list is not of the published form')
  const maxAgeMs = maxAgeOf(response.headers.get('cache-control'), response.headers.get('age'))
  return { ...list, maxAgeMs }
}

function maxAgeOf(cacheControl: string | null, age: string | null): number {
  const seconds = /(?:^|[,\s])max-age="?(\d{1,9})/i.exec(cacheControl ?? '')?.[1]
  const maxAgeMs = seconds === undefined ? DEFAULT_MAX_AGE_MS : Number(seconds) * 1000
  const spentMs = /^\d{1,9}$/.test(age ?? '') ? Number(age) * 1000 : 0
  const unkept = /no-store|no-cache/i.test(cacheControl ?? '')
  return Math.min(MAX_AGE_MS, Math.max(MIN_AGE_MS, unkept ? 0 : maxAgeMs - spentMs))
}
