import { ADDED_PHONE_WAIT_MS } from './lifetimes.ts'
import type { Rejection } from './rejection.ts'
import type { Device, Instant, Session } from './session.ts'
import { MOVES } from '../protocol/states.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The page of the inbox, the same for every user and request. */
export const INBOX_PATH = '/inbox'
/** The period of an inbox nonce. It is accepted for another one. */
export const INBOX_NONCE_SECONDS = 120
/** How many requests of a tenant wait for a user at once. */
const MAX_WAITING = 5
/**
 * How many of them are of one credential, so that no caller of a tenant shuts out a second one.
 * After as many without an answer, the credential has one place until the user answers.
 */
const MAX_OF_CALLER = 4
/** How many requests of a credential a user gets in each time. */
const QUOTAS = [
  { requests: 5, withinMs: MINUTE_MS },
  { requests: 20, withinMs: HOUR_MS },
] as const
/** How long a credential waits after its first, second, … request in a row without an approval. */
const WAITS_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  4 * HOUR_MS,
  24 * HOUR_MS,
] as const
/** How long a request counts after its creation, which is longer than any may be open. */
export const INBOX_HISTORY_MS = 48 * HOUR_MS
/**
 * How long a request counts after its end. Every tenant stores its sessions for as long, so one
 * that stores them for longer has the same limits.
 */
export const INBOX_ENDED_MS = 24 * HOUR_MS
/**
 * How long the waits of a credential go on after its last request: longer than that one may wait
 * and the longest wait together.
 */
export const INBOX_WAITS_MS = 72 * HOUR_MS
/** How often all tenants together wake a user in the time in which a credential does so once. */
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

/** A request that a tenant has put into the inbox of a user. */
export interface PastRequest
  extends Pick<
    Session,
    'createdAt' | 'expiresAt' | 'bondedAt' | 'endedAt' | 'endedReason' | 'deviceId'
  > {
  /** The server credential that created it. */
  readonly caller: string
}

/** How many requests of a credential and a user were created. A withdrawn one is in none. */
export interface AskedSince {
  /** Since the user last approved one, or since none was created for `INBOX_WAITS_MS`. */
  readonly approval: number
  /** Since the user last approved or declined one. */
  readonly answer: number
}

/** What decides whether a credential may ask a user. */
export interface Asking {
  readonly caller: string
  /** The requests of its tenant to the user that are stored. */
  readonly past: readonly PastRequest[]
  /** Counted apart from the sessions, which are stored for a day after their end. */
  readonly asked: AskedSince
}

/**
 * Why a credential must wait before its next request to the user; undefined if it need not. After
 * `retryAfterMs` the service admits one if no other event comes first.
 */
export function inboxWait(asking: Asking, now: Instant): Rejection | undefined {
  const found = obstacle(asking, now)
  if (found === undefined) return undefined
  const retryAfterMs = admittedFrom(asking, found.until) - now
  return found.isFull
    ? { reason: 'inbox_full', retryAfterMs }
    : { reason: 'rate_limited', step: 'inbox', retryAfterMs }
}

/** When the next request is admitted if no other event comes first, from an instant on. */
export function admittedFrom(asking: Asking, from: Instant): Instant {
  // A request that waits now can end meanwhile, and the next wait begins.
  const found = obstacle(asking, from)
  return found === undefined ? from : admittedFrom(asking, found.until)
}

/** What keeps the next request out at an instant, and until when at least. */
function obstacle({ caller, past, asked }: Asking, at: Instant) {
  const isOpen = (each: PastRequest) => each.bondedAt === null && endOf(each, at) === undefined
  const own = past.filter((each) => each.caller === caller)
  const [all, ownOpen] = [past.filter(isOpen), own.filter(isOpen)]
  const places = asked.answer - ownOpen.length < MAX_OF_CALLER ? MAX_OF_CALLER : 1
  const open = ownOpen.length < places ? all : ownOpen
  if (ownOpen.length >= places || all.length >= MAX_WAITING)
    return { isFull: true, until: Math.min(...open.map(({ expiresAt }) => expiresAt)) }
  const missed = asked.approval - ownOpen.length
  const quotas = QUOTAS.map((quota) => quotaUntil(own, quota))
  const until = Math.max(...quotas, waitUntil(own, missed, at))
  return at < until ? { isFull: false, until } : undefined
}

/** When one more request fits the quota. */
function quotaUntil(own: readonly PastRequest[], quota: (typeof QUOTAS)[number]): Instant {
  const oldest = own.map(({ createdAt }) => createdAt).toSorted((a, b) => b - a)
  const counted = oldest[quota.requests - 1]
  return counted === undefined ? 0 : counted + quota.withinMs
}

/**
 * When the wait ends that follows requests in a row that were not approved.
 *
 * @param missed how many they are at least, with those that are not stored any more
 */
function waitUntil(own: readonly PastRequest[], missed: number, at: Instant): Instant {
  const ended = own
    .filter((each) => !isWithdrawn(each))
    .map((each) => ({
      at: each.bondedAt ?? endOf(each, at) ?? 0,
      isApproved: each.bondedAt !== null,
    }))
    .filter((each) => each.at > 0)
    .toSorted((a, b) => b.at - a.at)
  const approved = ended.findIndex(({ isApproved }) => isApproved)
  const inRow = Math.max(missed, approved === -1 ? ended.length : approved)
  return (ended[0]?.at ?? 0) + (WAITS_MS[Math.min(inRow, WAITS_MS.length) - 1] ?? 0)
}

/**
 * Whether a request ended without a fault of its credential: the backend ended one that no phone
 * had opened, so that the user was not disturbed, or another user decided for the quorum.
 */
export function isWithdrawn({
  endedReason,
  deviceId,
  bondedAt,
}: Pick<Session, 'endedReason' | 'deviceId' | 'bondedAt'>): boolean {
  if (endedReason === MOVES.decide.endedReason) return bondedAt === null
  return endedReason === MOVES.kill.endedReason && deviceId === null
}

/** The end of a request, also where it is not stored yet. */
function endOf({ endedAt, expiresAt }: PastRequest, now: Instant): Instant | undefined {
  return endedAt ?? (now >= expiresAt ? expiresAt : undefined)
}

/** When the pause ends that a user's report begins. @param reports how many came before */
export function pauseUntil(reports: number, now: Instant): Instant {
  return now + PAUSES_MS[reports === 0 ? 0 : 1]
}
