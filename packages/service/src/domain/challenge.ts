import { CLAIMED_NONCE_TTL_MS } from './lifetimes.ts'
import { accept, type Result, refuse } from './refusal.ts'
import { type Instant, type Session, stateAt } from './session.ts'

/** The session's i-th nonce. Injected: the domain holds no key. */
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

/** The code on show at an instant, and until when it may be shown and is accepted. */
export interface ShownChallenge {
  readonly index: number
  readonly rotatesAt: Instant
  readonly expiresAt: Instant
}

/**
 * Protocol 4: nonce i is on show during [created + i·T, created + (i+1)·T) and accepted for one T more,
 * so a code scanned in its last second still works. Nothing is written when it rotates.
 * Outside `pending` the code stays frozen at the last one shown.
 */
export function shownChallenge(session: Session, now: Instant): ShownChallenge {
  const { createdAt, challengeTtlMs, sessionTtlMs } = session
  // A sweep notes the very end, when no code was on show any more.
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

/** The index of the nonce, if it is one that any phone may use now. */
export function acceptedIndex(
  session: Session,
  nonce: string,
  at: { now: Instant; nonces: Nonces },
): number | undefined {
  if (stateAt(session, at.now) !== 'pending') return undefined
  const { index } = shownChallenge(session, at.now)
  const candidates = index > 0 ? [index, index - 1] : [index]
  return candidates.find((i) => at.nonces.sameText(at.nonces.nonceAt(i), nonce))
}

/** The step nonce in force: the n-th, n being the valid assertions so far. */
export function stepNonce(session: Session, nonces: Nonces): string {
  return nonces.stepNonceAt(session.validAssertions)
}

/** Whether it is the step nonce that the phone attested with last, or was to attest with next when the session ended. */
export function isLatestStepNonce(
  { validAssertions }: Session,
  nonce: string,
  { stepNonceAt, sameText }: Nonces,
): boolean {
  const latest = [validAssertions - 1, validAssertions].filter((n) => n > 0)
  return latest.some((n) => sameText(stepNonceAt(n), nonce))
}

/** Until when the claimed nonce is accepted from the phone that claimed it. */
export function claimedNonceExpiresAt(session: Session): Instant | null {
  return session.claimedAt === null
    ? null
    : Math.min(session.claimedAt + CLAIMED_NONCE_TTL_MS, session.expiresAt)
}

/**
 * Whether this nonce may be used now, by the pinned phone or by any other.
 *
 * A claimed nonce is the only one taken from its phone; a claim is what takes a newer one, so `forClaim`
 * accepts that too.
 */
export function checkNonce(
  session: Session,
  nonce: string,
  at: { now: Instant; nonces: Nonces; pinned: boolean; forClaim?: boolean },
): Result<void> {
  const { now, nonces } = at
  if (session.state === 'step_up_required') {
    // Only the pinned phone knows this nonce, so any other reads as a mismatch or as an old code.
    return nonces.sameText(stepNonce(session, nonces), nonce)
      ? accept(undefined)
      : refuseNonce(session, nonce, at)
  }
  if (at.pinned && session.claimedNonce !== null) {
    const claimedUntil = claimedNonceExpiresAt(session) ?? 0
    if (now < claimedUntil && nonces.sameText(session.claimedNonce, nonce)) return accept(undefined)
    if (!at.forClaim || nonces.sameText(session.claimedNonce, nonce))
      return refuseNonce(session, nonce, at)
    // A newer one replaces it; going back to an older one that is still accepted would not.
    const claimed = acceptedIndex(session, session.claimedNonce, at)
    const wanted = acceptedIndex(session, nonce, at)
    if (claimed !== undefined && wanted !== undefined && wanted < claimed)
      return refuse('challenge_expired', { step: 'nonce' })
  }
  return acceptedIndex(session, nonce, at) === undefined
    ? refuseNonce(session, nonce, at)
    : accept(undefined)
}

function refuseNonce(
  session: Session,
  nonce: string,
  at: { now: Instant; nonces: Nonces; pinned: boolean },
): Result<never> {
  return wasOnceGood(session, nonce, at)
    ? refuse('challenge_expired', { step: 'nonce' })
    : refuse('nonce_mismatch', { step: 'nonce' })
}

/** Whether the nonce is one of this session's earlier ones. At most 180 of them: 900 s in steps of 5 s. */
function wasOnceGood(
  session: Session,
  nonce: string,
  at: { now: Instant; nonces: Nonces },
): boolean {
  const { sameText, nonceAt, stepNonceAt } = at.nonces
  const { index } = shownChallenge(session, at.now)
  // While a code is on show its predecessor is still good for phones that have not claimed.
  const newest = session.state === 'pending' ? index - 1 : index
  for (let i = 0; i <= newest; i++) if (sameText(nonceAt(i), nonce)) return true
  for (let n = 1; n < session.validAssertions; n++) if (sameText(stepNonceAt(n), nonce)) return true
  return session.claimedNonce !== null && sameText(session.claimedNonce, nonce)
}
