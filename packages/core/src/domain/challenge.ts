import { CLAIMED_NONCE_TTL_MS } from './lifetimes.ts'
import { hasBond, isUnanswered, showsCode, usesStepNonce } from '../protocol/states.ts'
import type { Instant, Session } from './session.ts'

/** The session's i-th nonce. Injected, because the domain has no key. */
export type NonceAt = (index: number) => string
/** The session's n-th step nonce. */
export type StepNonceAt = (n: number) => string
/** Whether two texts are equal, in time that does not depend on where they differ. */
export type SameText = (a: string, b: string) => boolean

export interface Nonces {
  readonly nonceAt: NonceAt
  readonly stepNonceAt: StepNonceAt
  readonly sameText: SameText
}

/** The challenge shown at an instant, with its display and acceptance times. */
export interface ShownChallenge {
  readonly index: number
  readonly rotatesAt: Instant
  readonly expiresAt: Instant
}

/**
 * Protocol 4: nonce i is shown during [created + i·T, created + (i+1)·T) and accepted for T longer,
 * so that a QR code scanned in its last second still works. Rotation writes nothing. Outside
 * `pending` the challenge stays at the last one shown.
 */
export function shownChallenge(session: Session, now: Instant): ShownChallenge {
  const { createdAt, challengeTtlMs, sessionTtlMs } = session
  // The sweeper passes the exact expiry, an instant at which no QR code is shown.
  const frozenAt = Math.min(session.pendingUntil ?? now, createdAt + sessionTtlMs - 1)
  const index = Math.max(0, Math.floor((frozenAt - createdAt) / challengeTtlMs))
  return challengeOf(session, index)
}

/** The windows of the i-th challenge. */
export function challengeOf(session: Session, index: number): ShownChallenge {
  const shownFrom = session.createdAt + index * session.challengeTtlMs
  const codesEndAt = session.createdAt + session.sessionTtlMs
  return {
    index,
    rotatesAt: Math.min(shownFrom + session.challengeTtlMs, codesEndAt),
    expiresAt: Math.min(shownFrom + 2 * session.challengeTtlMs, codesEndAt),
  }
}

/** The index of the nonce, if any phone may use it now. */
export function acceptedIndex(
  session: Session,
  nonce: string,
  at: { now: Instant; nonces: Nonces },
): number | undefined {
  return showsCode(session, at.now) ? lastAcceptedIndex(session, nonce, at) : undefined
}

/**
 * The index of the nonce, if any phone may use it now or could when the session left `pending`: a
 * phone that comes too late may know that the session has ended.
 */
export function lastAcceptedIndex(
  session: Session,
  nonce: string,
  at: { now: Instant; nonces: Nonces },
): number | undefined {
  const { index } = shownChallenge(session, at.now)
  const candidates = index > 0 ? [index, index - 1] : [index]
  return candidates.find((i) => at.nonces.sameText(at.nonces.nonceAt(i), nonce))
}

/**
 * The current step nonce: the n-th, where n is the number of valid assertions that missed the
 * policy. Without one, the phone has approved with the nonce that it claimed, and keeps it.
 */
export function stepNonce(session: Session, nonces: Nonces): string {
  if (session.validAssertions === 0 && session.claimedNonce !== null) return session.claimedNonce
  return nonces.stepNonceAt(session.validAssertions)
}

/**
 * Whether this is the step nonce of the phone's last assertion, or of the next one when the session
 * ended.
 */
export function isLatestStepNonce(
  { validAssertions }: Session,
  nonce: string,
  { stepNonceAt, sameText }: Nonces,
): boolean {
  const latest = [validAssertions - 1, validAssertions].filter((n) => n > 0)
  return latest.some((n) => sameText(stepNonceAt(n), nonce))
}

/** Whether a phone may act with this nonce, or could when the session ended. */
export function isLatestNonce(
  session: Session,
  nonce: string,
  at: { now: Instant; nonces: Nonces },
): boolean {
  const { claimedNonce } = session
  if (claimedNonce !== null && at.nonces.sameText(claimedNonce, nonce)) return true
  if (isLatestStepNonce(session, nonce, at.nonces)) return true
  return lastAcceptedIndex(session, nonce, at) !== undefined
}

/** The end of the period in which the phone may use the nonce that it claimed. */
export function claimedNonceExpiresAt(session: Session): Instant | null {
  return session.claimedAt === null
    ? null
    : Math.min(session.claimedAt + CLAIMED_NONCE_TTL_MS, session.expiresAt)
}

/** What a nonce is to a session now: one that this phone may use, an earlier one, or neither. */
export type NonceStanding = 'accepted' | 'earlier' | 'unknown'

/**
 * Compares a nonce with those that the pinned phone, or any other, may use now.
 *
 * The pinned phone may use only the nonce that it claimed. A new claim may present a newer nonce;
 * `forClaim` accepts that one too.
 */
export function nonceStanding(
  session: Session,
  nonce: string,
  at: { now: Instant; nonces: Nonces; pinned: boolean; forClaim: boolean },
): NonceStanding {
  const { now, nonces } = at
  const rejected = () => (wasOnceGood(session, nonce, at) ? 'earlier' : 'unknown')
  // A phone takes its approval back with the nonce of that approval, however long ago it was.
  if (hasBond(session))
    return at.pinned && isLatestNonce(session, nonce, at) ? 'accepted' : rejected()
  // Only the pinned phone knows a step nonce. Any other phone has none or an old one.
  if (usesStepNonce(session))
    return nonces.sameText(stepNonce(session, nonces), nonce) ? 'accepted' : rejected()
  if (at.pinned && session.claimedNonce !== null) {
    const claimedUntil = claimedNonceExpiresAt(session) ?? 0
    if (now < claimedUntil && nonces.sameText(session.claimedNonce, nonce)) return 'accepted'
    if (!at.forClaim || nonces.sameText(session.claimedNonce, nonce)) return rejected()
    // A claim may replace the nonce with a newer one, never with an older one that is still
    // accepted.
    const claimed = acceptedIndex(session, session.claimedNonce, at)
    const wanted = acceptedIndex(session, nonce, at)
    if (claimed !== undefined && wanted !== undefined && wanted < claimed) return 'earlier'
  }
  return acceptedIndex(session, nonce, at) === undefined ? rejected() : 'accepted'
}

/**
 * More nonces than a session has that a page shows: 900 s in steps of 5 s. One of an inbox has 720
 * in a day, of which the latest six hours are compared.
 */
const MAX_COMPARED = 180

/** Whether this is an earlier nonce of the session. */
function wasOnceGood(
  session: Session,
  nonce: string,
  at: { now: Instant; nonces: Nonces },
): boolean {
  const { sameText, nonceAt, stepNonceAt } = at.nonces
  const { index } = shownChallenge(session, at.now)
  // Phones that have not claimed may still use the nonce before the one that is shown.
  const newest = isUnanswered(session) ? index - 1 : index
  for (let i = Math.max(0, newest - MAX_COMPARED); i <= newest; i++)
    if (sameText(nonceAt(i), nonce)) return true
  for (let n = 1; n < session.validAssertions; n++) if (sameText(stepNonceAt(n), nonce)) return true
  return session.claimedNonce !== null && sameText(session.claimedNonce, nonce)
}
