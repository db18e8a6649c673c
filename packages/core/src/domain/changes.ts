import type { DeviceId } from '@bonded/contract'
import { requiresBrowser } from './browser-proof.ts'
import { receiptDueAt } from './receipts.ts'
import type { Instant, Session } from './session.ts'
import {
  ends,
  isUnanswered,
  mayMove,
  type Move,
  MOVES,
  showsCode,
  takesEvidence,
  usesStepNonce,
} from '../protocol/states.ts'

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
  readonly browserProof?: Session['browserProof']
  readonly bondedAt?: Instant
  readonly completedAt?: Instant
  readonly outcome?: Session['outcome']
  readonly declineNote?: string | undefined
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
  if (!mayMove(session, move, now)) return undefined
  // Whatever a caller computed, a session that requires the browser bonds with its proof only.
  const proved = set.verification?.browser !== undefined
  if (move.to === MOVES.bond.to && requiresBrowser(session.policy) !== proved)
    throw new RangeError('a bond must have the proof of the browser where its workflow requires it')
  // An expired session ended at its expiry, not at the sweeper's run.
  const at = move.to === MOVES.expire.to ? session.expiresAt : now
  const bondProof = set.bondProof ?? session.bondProof
  const next = { state: move.to }
  return {
    ...session,
    state: move.to,
    seq: session.seq + 1,
    hint: usesStepNonce(next) ? (set.browserProof ? 'browser' : 'step_up') : null,
    // Only evidence needs the number for a carrier check, and this session accepts no more
    // evidence.
    sealedPhoneNumber: takesEvidence(next) ? session.sealedPhoneNumber : null,
    pendingUntil: isUnanswered(session) ? at : session.pendingUntil,
    endedAt: ends(move) ? at : null,
    endedReason: move.endedReason ?? null,
    declineNote: set.declineNote ?? session.declineNote,
    expiresAt: set.expiresAt ?? session.expiresAt,
    deviceId: session.deviceId ?? set.deviceId ?? null,
    validAssertions: set.validAssertions ?? session.validAssertions,
    subjectRef: set.subjectRef ?? session.subjectRef,
    bondDigest: set.bondDigest ?? session.bondDigest,
    bondProof,
    receiptDueAt: receiptDueAt({ ...session, bondProof }, move, now),
    verification: set.verification ?? session.verification,
    stepUp: set.stepUp ?? null,
    browserProof: set.browserProof === undefined ? session.browserProof : set.browserProof,
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
  if (!showsCode(session, now) || (session.deviceId !== null && session.deviceId !== deviceId))
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
  return showsCode(session, now) && session.hint !== hint
    ? { ...session, hint, seq: session.seq + 1 }
    : undefined
}

/** Returns the session after one more valid assertion that misses the policy. */
export function missed(
  session: Session,
  { now, stepUp }: { now: Instant; stepUp: Session['stepUp'] },
): Session | undefined {
  const stepping = usesStepNonce(session) && now < session.expiresAt
  return stepping ? { ...session, validAssertions: session.validAssertions + 1, stepUp } : undefined
}
