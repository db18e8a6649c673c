import type { DeviceId } from '@bonded/contract'
import { requiresBrowser } from './browser-leg.ts'
import { receiptDueAt } from './receipts.ts'
import { type Instant, mayMove, type Session } from './session.ts'
import type { Move } from './transitions.ts'

/** What a move sets in addition to the state. */
export interface MoveChanges {
  readonly expiresAt?: Instant
  readonly deviceId?: DeviceId
  readonly validAssertions?: number
  readonly subjectRef?: string
  readonly bondDigest?: string
  readonly bondProof?: Session['bondProof']
  readonly verification?: Session['verification']
  readonly stepUp?: Session['stepUp']
  readonly browserLeg?: Session['browserLeg']
  readonly bondedAt?: Instant
  readonly completedAt?: Instant
  readonly outcome?: Session['outcome']
  /** The nonce of the phone's assertion, if the phone had not claimed the session. */
  readonly nonce?: string
}

/**
 * Returns the session after a move, or undefined if the transition table does not allow the move
 * now.
 */
export function moved(
  session: Session,
  move: Move,
  { now, set = {} }: { now: Instant; set?: MoveChanges },
): Session | undefined {
  const expiring = move.to === 'expired'
  const allowed = expiring
    ? move.from.includes(session.state) && now >= session.expiresAt
    : mayMove(session, move, now)
  if (!allowed) return undefined
  // Whatever a caller computed, a session that requires the browser bonds with its proof only.
  const proved = set.verification?.browser !== undefined
  if (move.to === 'bonded' && requiresBrowser(session.policy) !== proved)
    throw new RangeError('a bond must have the proof of the browser where its workflow requires it')
  // An expired session ended at its expiry, not at the sweeper's run.
  const at = expiring ? session.expiresAt : now
  const bondProof = set.bondProof ?? session.bondProof
  const ends = expiring || move.to === 'killed' || move.to === 'completed'
  return {
    ...session,
    state: move.to,
    seq: session.seq + 1,
    hint: move.to === 'step_up_required' ? (set.browserLeg ? 'browser' : 'step_up') : null,
    // Only evidence needs the number for a carrier check, and this session accepts no more
    // evidence.
    sealedPhoneNumber: move.to === 'step_up_required' ? session.sealedPhoneNumber : null,
    pendingUntil: session.state === 'pending' ? at : session.pendingUntil,
    endedAt: ends ? at : null,
    endedReason: move.endedReason ?? null,
    expiresAt: set.expiresAt ?? session.expiresAt,
    deviceId: session.deviceId ?? set.deviceId ?? null,
    validAssertions: set.validAssertions ?? session.validAssertions,
    subjectRef: set.subjectRef ?? session.subjectRef,
    bondDigest: set.bondDigest ?? session.bondDigest,
    bondProof,
    receiptDueAt: receiptDueAt({ ...session, bondProof }, move, now),
    verification: set.verification ?? session.verification,
    stepUp: set.stepUp ?? null,
    browserLeg: set.browserLeg === undefined ? session.browserLeg : set.browserLeg,
    bondedAt: set.bondedAt ?? session.bondedAt,
    completedAt: set.completedAt ?? session.completedAt,
    outcome: set.outcome ?? session.outcome,
    claimedNonce: session.claimedNonce ?? set.nonce ?? null,
  }
}

/** Returns the session after a claim. A second claim by the same phone only replaces the nonce. */
export function claimed(
  session: Session,
  claim: { now: Instant; deviceId: DeviceId; nonce: string; claimedAt: Instant },
): Session | undefined {
  const { now, deviceId, nonce, claimedAt } = claim
  if (!awaitsScan(session, now) || (session.deviceId !== null && session.deviceId !== deviceId))
    return undefined
  const taken = { ...session, claimedNonce: nonce, claimedAt }
  return session.deviceId === deviceId
    ? taken
    : { ...taken, deviceId, hint: 'scanned', seq: session.seq + 1 }
}

/** Returns the session with another hint, or undefined if it has that hint or awaits no phone. */
export function hinted(
  session: Session,
  hint: NonNullable<Session['hint']>,
  now: Instant,
): Session | undefined {
  return awaitsScan(session, now) && session.hint !== hint
    ? { ...session, hint, seq: session.seq + 1 }
    : undefined
}

/** Returns the session after one more valid assertion that misses the policy. */
export function missed(
  session: Session,
  { now, stepUp }: { now: Instant; stepUp: Session['stepUp'] },
): Session | undefined {
  const stepping = session.state === 'step_up_required' && now < session.expiresAt
  return stepping ? { ...session, validAssertions: session.validAssertions + 1, stepUp } : undefined
}

function awaitsScan(session: Session, now: Instant): boolean {
  return session.state === 'pending' && now < session.expiresAt
}
