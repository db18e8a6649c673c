import type { Instant } from '../../../domain/session.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { RevocationList } from '../../../ports/revocations.ts'
import { readStatusList, type StatusList } from './status-list.ts'

/** Where Google publishes its list. */
export const GOOGLE_STATUS_URL = 'https://android.googleapis.com/attestation/status'
/** How long a list still counts after it should have been fetched anew: a weekend without Google stops nobody. */
export const REVOCATION_GRACE_MS = 72 * 3_600_000
/** Of an answer that does not say how long it may be kept. */
const DEFAULT_MAX_AGE_MS = 3_600_000
/** Whatever the answer says: not at every registration, and once a day at least. */
const MIN_AGE_MS = 60_000
const MAX_AGE_MS = 24 * 3_600_000
/** After a failure; registrations meanwhile do not each wait for another one. */
const RETRY_AFTER_MS = 30_000
/** A registration waits for it when there is nothing to judge by. */
const FETCH_WITHIN_MS = 5_000
/** The list had some 50 entries in its first years; this leaves room for 50 000. */
const MAX_LIST_BYTES = 4 * 1024 * 1024

/** The part of fetch that is used. */
export type FetchText = (
  url: string,
  options: { readonly signal: AbortSignal; readonly redirect: 'error' },
) => Promise<{
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}>

export interface RevocationSource {
  readonly fetch: FetchText
  readonly clock: Clock
  /** Serials known to be bad when the program was made. They are refused, whatever is fetched. */
  readonly snapshot: ReadonlySet<string>
  readonly url?: string
  readonly graceMs?: number
  /** Called for each fetch that failed, and for each list with entries that were skipped. */
  readonly onFailure?: (failure: unknown) => void
}

interface FetchedList {
  readonly serials: ReadonlySet<string>
  readonly freshUntil: Instant
  readonly usableUntil: Instant
}

/**
 * Google's list, fetched when it is asked for and kept as long as its `Cache-Control` says. While a newer one cannot be
 * had the old one counts for the grace, then nothing is `good` any more. Concurrent callers share one fetch.
 */
export function googleRevocations(source: RevocationSource): RevocationList {
  const { clock, snapshot, graceMs = REVOCATION_GRACE_MS } = source
  let list: FetchedList | undefined
  let fetching: Promise<void> | undefined
  let nextTryAt = Number.NEGATIVE_INFINITY

  const refresh = async (): Promise<void> => {
    try {
      const { serials, malformedEntries, maxAgeMs } = await fetchList(source)
      const freshUntil = clock.now() + maxAgeMs
      list = { serials, freshUntil, usableUntil: freshUntil + graceMs }
      if (malformedEntries > 0)
        source.onFailure?.(
          new Error(
            `the revocation list has ${malformedEntries} malformed entries, which were skipped`,
          ),
        )
    } catch (failure) {
      nextTryAt = clock.now() + RETRY_AFTER_MS
      source.onFailure?.(failure)
    } finally {
      fetching = undefined
    }
  }

  return {
    async judge(serials) {
      const now = clock.now()
      if (now >= (list?.freshUntil ?? Number.NEGATIVE_INFINITY) && now >= nextTryAt)
        fetching ??= refresh()
      // A list within its grace answers at once; the newer one serves the next registration.
      if (fetching !== undefined && !isUsable(list, now)) await fetching
      if (
        serials.some(
          (serial) =>
            names(snapshot, serial) || (list !== undefined && names(list.serials, serial)),
        )
      )
        return 'revoked'
      return isUsable(list, clock.now()) ? 'good' : 'unknown'
    },
  }
}

function isUsable(list: FetchedList | undefined, now: Instant): boolean {
  return list !== undefined && now < list.usableUntil
}

/** The list is to name serials in hexadecimal; its oldest entries are decimal, and nothing tells the two apart. */
function names(bad: ReadonlySet<string>, serial: string): boolean {
  return bad.has(serial) || bad.has(BigInt(`0x${serial}`).toString())
}

async function fetchList({
  fetch,
  url = GOOGLE_STATUS_URL,
}: RevocationSource): Promise<StatusList & { maxAgeMs: number }> {
  const answer = await fetch(url, {
    signal: AbortSignal.timeout(FETCH_WITHIN_MS),
    redirect: 'error',
  })
  if (answer.status !== 200) throw new Error(`the revocation list answered ${answer.status}`)
  const text = await answer.text()
  const list = text.length <= MAX_LIST_BYTES ? readStatusList(text) : undefined
  if (list === undefined) throw new Error('the revocation list is not of the published form')
  const maxAgeMs = maxAgeOf(answer.headers.get('cache-control'), answer.headers.get('age'))
  return { ...list, maxAgeMs }
}

function maxAgeOf(cacheControl: string | null, age: string | null): number {
  const seconds = /(?:^|[,\s])max-age="?(\d{1,9})/i.exec(cacheControl ?? '')?.[1]
  const maxAgeMs = seconds === undefined ? DEFAULT_MAX_AGE_MS : Number(seconds) * 1000
  const spentMs = /^\d{1,9}$/.test(age ?? '') ? Number(age) * 1000 : 0
  const unkept = /no-store|no-cache/i.test(cacheControl ?? '')
  return Math.min(MAX_AGE_MS, Math.max(MIN_AGE_MS, unkept ? 0 : maxAgeMs - spentMs))
}
