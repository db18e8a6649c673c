import { ADDED_PHONE_WAIT_MS } from './lifetimes.ts'
import type { Rejection } from './rejection.ts'
import type { Device, Instant, Session } from './session.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The page of the inbox, the same for every user and request. */
export const INBOX_PATH = '/inbox'
/** The period of an inbox nonce. It is accepted for another one. */
export const INBOX_NONCE_SECONDS = 120
/** How many requests of a tenant wait for a user at once. */
const MAX_WAITING = 5
/** How many requests of a tenant a user gets in each time. */
const QUOTAS = [
  { requests: 5, withinMs: MINUTE_MS },
  { requests: 20, withinMs: HOUR_MS },
] as const
/** How long a tenant waits after its first, second, … request in a row that was not approved. */
const WAITS_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS] as const
/** How long a request counts after its creation, which is longer than any may be open. */
export const INBOX_HISTORY_MS = 48 * HOUR_MS
/**
 * How long a request counts after its end. Every tenant stores its sessions for as long, so one
 * that stores them for longer has the same limits.
 */
export const INBOX_ENDED_MS = 24 * HOUR_MS
/** How often all tenants together wake a user in the time in which each one does so once. */
export const MAX_WAKE_UPS = 4
export const WAKE_UPS_WITHIN_MS = HOUR_MS
/** How long a push service stores a wake-up for a phone that it does not reach. */
export const WAKE_UP_TTL_MS = 10 * MINUTE_MS
/** How long a report pauses a tenant: the first one, and each further one. */
const PAUSES_MS = [HOUR_MS, 24 * HOUR_MS] as const

/** Whether a session waits in the inbox of its user, so that only inbox nonces open it. */
export function isInbox({ policy }: Pick<Session, 'policy'>): boolean {
  return policy.delivery === 'inbox'
}

/**
 * The earliest creation of an inbox session that a device may serve. An attacker who adds a
 * phone could otherwise approve what waits already.
 */
export function servesInboxFrom({ createdAt, addedBy }: Pick<Device, 'createdAt' | 'addedBy'>) {
  return createdAt + ((addedBy ?? null) === null ? 1 : ADDED_PHONE_WAIT_MS)
}

/** The times of a request that a tenant has put into the inbox of a user. */
export type PastRequest = Pick<Session, 'createdAt' | 'expiresAt' | 'bondedAt' | 'endedAt'>

/**
 * Why the tenant must wait before its next request to the user; undefined if it need not.
 *
 * @param past its requests to the user that are stored
 */
export function inboxWait(past: readonly PastRequest[], now: Instant): Rejection | undefined {
  const open = past.filter((each) => each.bondedAt === null && endOf(each, now) === undefined)
  if (open.length >= MAX_WAITING) {
    const earliest = Math.min(...open.map(({ expiresAt }) => expiresAt))
    return { reason: 'inbox_full', retryAfterMs: Math.min(earliest - now, HOUR_MS) }
  }
  const until = Math.max(...QUOTAS.map((quota) => quotaUntil(past, quota)), waitUntil(past, now))
  return now < until
    ? { reason: 'rate_limited', step: 'inbox', retryAfterMs: until - now }
    : undefined
}

/** When one more request fits the quota. */
function quotaUntil(past: readonly PastRequest[], quota: (typeof QUOTAS)[number]): Instant {
  const oldest = past.map(({ createdAt }) => createdAt).toSorted((a, b) => b - a)
  const counted = oldest[quota.requests - 1]
  return counted === undefined ? 0 : counted + quota.withinMs
}

/** When the wait ends that follows requests in a row that were not approved. */
function waitUntil(past: readonly PastRequest[], now: Instant): Instant {
  const ended = past
    .map((each) => ({
      at: each.bondedAt ?? endOf(each, now) ?? 0,
      isApproved: each.bondedAt !== null,
    }))
    .filter(({ at }) => at > 0)
    .toSorted((a, b) => b.at - a.at)
  const approved = ended.findIndex(({ isApproved }) => isApproved)
  const inRow = approved === -1 ? ended.length : approved
  return (ended[0]?.at ?? 0) + (WAITS_MS[Math.min(inRow, WAITS_MS.length) - 1] ?? 0)
}

/** The end of a request, also where it is not stored yet. */
function endOf({ endedAt, expiresAt }: PastRequest, now: Instant): Instant | undefined {
  return endedAt ?? (now >= expiresAt ? expiresAt : undefined)
}

/** When the pause ends that a user's report begins. @param reports how many came before */
export function pauseUntil(reports: number, now: Instant): Instant {
  return now + PAUSES_MS[reports === 0 ? 0 : 1]
}
