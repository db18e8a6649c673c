import type { Instant, Session } from './session.ts'

/** Long enough for a user to find a phone. */
export const SESSION_TTL_SECONDS = 300
/** Long enough to unlock a phone; short enough that a photographed code is worthless. */
export const CHALLENGE_TTL_SECONDS = 60
/** After the bond only the backend acts: it reads the session, acts, and completes the session. */
export const BONDED_TTL_SECONDS = 120

/** Protocol 4: a claimed nonce is accepted from its phone for this long. */
export const CLAIMED_NONCE_TTL_MS = 120_000
/** Protocol 7: evidence older than this proves nothing about now. */
export const EVIDENCE_TTL_MS = 300_000
/** Protocol 7: a local authentication counts for this long before the request that reports it. */
export const LOCAL_AUTH_MAX_AGE_MS = 120_000
/** Protocol 6: a registration takes seconds; a phone on a bad network takes a minute. */
export const DEVICE_CHALLENGE_TTL_MS = 300_000

/**
 * Protocol 6: an unattested key of this age is known to a tenant that names its user. A user has a
 * day to notice a foreign key, and a script must register a day early.
 */
export const KNOWN_KEY_AGE_MS = 24 * 60 * 60_000
/**
 * Protocol 6: an unattested key of this age, with a completed bond, is seasoned. A user has a week
 * to notice a key that a program has made on the own computer.
 */
export const SEASONED_KEY_AGE_MS = 7 * KNOWN_KEY_AGE_MS

/** Protocol 6: a phone that has not renewed its token for half a year is probably out of use. */
export const DEVICE_TOKEN_TTL_DAYS = 180

/** Protocol 5: the maximum difference between `issued_at` and the service's time. */
export const ISSUED_AT_MAX_AGE_MS = 120_000
export const ISSUED_AT_MAX_AHEAD_MS = 30_000

/** Protocol 4: how long GET returns an ended session. */
export const READABLE_AFTER_END_MS = 60 * 60_000
/**
 * Protocol 4: how long an Idempotency-Key is stored, from `idempotencyTime`. A session lives for at
 * most 15 minutes before the bond and 15 after it, and is readable for another hour. The second
 * hour is a margin for a clock that jumps.
 */
export const IDEMPOTENCY_KEY_TTL_MS = 2 * READABLE_AFTER_END_MS + 30 * 60_000
/**
 * When the bonds of a quorum end: all of them together, so that the last user may answer long
 * after the first.
 */
export function quorumEnd({
  createdAt,
  sessionTtlMs,
  bondedTtlMs,
}: Pick<Session, 'createdAt' | 'sessionTtlMs' | 'bondedTtlMs'>): Instant {
  return createdAt + sessionTtlMs + bondedTtlMs
}

/** Only a session in an inbox waits for its phone longer than this. */
export const MAX_PAGE_SECONDS = 900

/** From when an Idempotency-Key is stored: later for a session that waits longer than a page. */
export function idempotencyTime(session: Pick<Session, 'createdAt' | 'sessionTtlMs'>): Instant {
  return session.createdAt + Math.max(0, session.sessionTtlMs - MAX_PAGE_SECONDS * 1000)
}
/** Protocol 4: how long an ended session is retained for operators and its timeline. */
export const RETENTION_AFTER_END_MS = 24 * 60 * 60_000

/** Protocol 4: a node whose clock differs by more from the stored times is not ready. */
export const MAX_CLOCK_DIFFERENCE_MS = 1_000

/** Protocol 4: the fifth invalid assertion ends the session. */
export const MAX_FAILED_ASSERTIONS = 5
/** Protocol 4: the third valid assertion that misses the policy ends the session. */
export const MAX_VALID_ASSERTIONS = 3

/**
 * How long a phone that was added to a subject cannot remove another one. The subject's other
 * phones are notified of it, so that they can remove it first.
 */
export const ADDED_PHONE_WAIT_MS = 72 * 60 * 60 * 1000

/** Protocol 14: an approval leaves the browser at least this long to prove itself. */
export const BROWSER_PROOF_TTL_MS = 120_000
/** Protocol 14: after this many failed proofs the phone must approve again. */
export const MAX_FAILED_BROWSER_PROOFS = 8

/** How long the reason of a rejection can be searched, by default. */
export const REJECTION_RETENTION_DAYS = 30
export const REJECTION_RETENTION_MS = REJECTION_RETENTION_DAYS * 24 * 60 * 60_000
/** Rejections of a session that are stored for the search. */
export const MAX_REJECTIONS = 40
