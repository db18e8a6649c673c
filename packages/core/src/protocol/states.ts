import type { EndedReason, SessionState } from '@bonded/contract'
import type { Instant, Session } from '../domain/session.ts'
import type { Tenant } from '../domain/tenant.ts'
import { quorumEnd, READABLE_AFTER_END_MS } from '../domain/lifetimes.ts'

/** One transition of a session. */
export interface Move {
  readonly from: readonly SessionState[]
  readonly to: SessionState
  readonly endedReason?: EndedReason
}

/**
 * Every transition of a session (protocol 4, States). An operation names a row, the domain
 * evaluates it, and the store builds its guarded statement from it.
 */
export const MOVES = {
  bond: { from: ['pending', 'step_up_required'], to: 'bonded' },
  stepUp: { from: ['pending'], to: 'step_up_required' },
  /** The phone has approved, and the browser must prove itself. */
  approve: { from: ['pending', 'step_up_required'], to: 'step_up_required' },
  /** The approval cannot be used any more: the phone must approve again. */
  recall: { from: ['step_up_required'], to: 'step_up_required' },
  failPolicy: { from: ['step_up_required'], to: 'killed', endedReason: 'policy_not_met' },
  failAttempts: {
    from: ['pending', 'step_up_required'],
    to: 'killed',
    endedReason: 'too_many_attempts',
  },
  decline: { from: ['pending', 'step_up_required'], to: 'killed', endedReason: 'user_declined' },
  declineUnexpected: {
    from: ['pending', 'step_up_required'],
    to: 'killed',
    endedReason: 'user_unexpected',
  },
  /** A member of a quorum takes its approval back. */
  takeBack: { from: ['bonded'], to: 'killed', endedReason: 'user_declined' },
  takeBackUnexpected: { from: ['bonded'], to: 'killed', endedReason: 'user_unexpected' },
  /** Another user has decided for the quorum. */
  decide: {
    from: ['pending', 'step_up_required', 'bonded'],
    to: 'killed',
    endedReason: 'decided',
  },
  cancel: { from: ['pending', 'step_up_required'], to: 'killed', endedReason: 'canceled' },
  kill: {
    from: ['pending', 'step_up_required', 'bonded'],
    to: 'killed',
    endedReason: 'killed_by_tenant',
  },
  killByOperator: {
    from: ['pending', 'step_up_required', 'bonded'],
    to: 'killed',
    endedReason: 'killed_by_operator',
  },
  /** What is bonded completes. */
  suspend: {
    from: ['pending', 'step_up_required'],
    to: 'killed',
    endedReason: 'tenant_suspended',
  },
  expire: { from: ['pending', 'step_up_required', 'bonded'], to: 'expired' },
  complete: { from: ['bonded'], to: 'completed' },
} as const satisfies Record<string, Move>

/** What holds in a state, beside the moves that leave it. */
interface StateRules {
  /**
   * The nonce by which a phone acts: one that the QR code shows or that the phone has claimed, the
   * step nonce that only the phone of the session reads, or none.
   */
  readonly nonce: 'shown' | 'step' | 'none'
  /** Whether evidence can still come. The phone's number is kept for its carrier check. */
  readonly evidence: boolean
  /**
   * Whether the session carries a bond that counts: its backend reads the verification and the
   * receipt, and its own browser opens them.
   */
  readonly bond: boolean
}

/** What may be read, shown and written in each state. */
export const STATES = {
  pending: { nonce: 'shown', evidence: true, bond: false },
  step_up_required: { nonce: 'step', evidence: true, bond: false },
  bonded: { nonce: 'none', evidence: false, bond: true },
  completed: { nonce: 'none', evidence: false, bond: true },
  killed: { nonce: 'none', evidence: false, bond: false },
  expired: { nonce: 'none', evidence: false, bond: false },
} as const satisfies Record<SessionState, StateRules>

/** The final states. */
export const TERMINAL: readonly SessionState[] = ['completed', 'killed', 'expired']

type Stated = Pick<Session, 'state'>
type Timed = Pick<Session, 'state' | 'expiresAt'>

/**
 * Returns the state at an instant. Expiry follows from the stored times, whether or not the sweeper
 * has stored it.
 */
export function stateAt(session: Timed, now: Instant): SessionState {
  return hasPassed(session, now) ? MOVES.expire.to : session.state
}

/** Whether the time of a session has passed and its end is not stored yet. */
export function hasPassed(session: Timed, now: Instant): boolean {
  return isStoredFor(session, MOVES.expire) && now >= session.expiresAt
}

/** Returns when the session ended, or null while it is live. */
export function endedAt(session: Session, now: Instant): Instant | null {
  if (session.endedAt !== null) return session.endedAt
  return hasPassed(session, now) ? session.expiresAt : null
}

/**
 * Whether GET still returns the session: live, or ended less than an hour ago. A member of a quorum
 * stays until the others can no longer be used, so that a no counts until then.
 */
export function isReadable(session: Session, now: Instant): boolean {
  const ended = endedAt(session, now)
  const end = Math.max(ended ?? 0, session.quorumId === null ? 0 : quorumEnd(session))
  return ended === null || now < end + READABLE_AFTER_END_MS
}

/** Whether the transition table allows this move now. */
export function mayMove(session: Timed, move: Move, now: Instant): boolean {
  return move.to === MOVES.expire.to
    ? hasPassed(session, now)
    : move.from.includes(stateAt(session, now))
}

/**
 * Whether the table allows this move from the state that is stored. For a caller that then moves
 * under the guard of the store: if the time ends in between, the move has no effect.
 */
export function isStoredFor({ state }: Stated, move: Move): boolean {
  return move.from.includes(state)
}

/** Whether the session has made this move, or another one to the same state. */
export function hasMoved({ state }: Stated, move: Move): boolean {
  return state === move.to
}

/** Whether a move ends the session. */
export function ends(move: Move): boolean {
  return TERMINAL.includes(move.to)
}

/** Whether a phone may still act on the session, that is, whether the user can decline. */
export function awaitsPhone(session: Timed, now: Instant): boolean {
  return mayMove(session, MOVES.decline, now)
}

/** Whether the user can decline, or take back what is one approval of several. */
export function takesNo(session: Timed & Pick<Session, 'quorumId'>, now: Instant): boolean {
  return (
    awaitsPhone(session, now) ||
    (session.quorumId !== null && mayMove(session, MOVES.takeBack, now))
  )
}

/** Whether the suspension of its tenant has ended the session. */
export function endedBySuspension({ endedReason }: Pick<Session, 'endedReason'>): boolean {
  return endedReason === MOVES.suspend.endedReason
}

/** The same, or whether it is about to: a session was created while the tenant was suspended. */
export function isSuspended({
  session,
  tenant,
  now,
}: {
  readonly session: Timed & Pick<Session, 'endedReason'>
  readonly tenant: Pick<Tenant, 'suspendedAt'>
  readonly now: Instant
}): boolean {
  return (
    endedBySuspension(session) || (tenant.suspendedAt !== undefined && awaitsPhone(session, now))
  )
}

/** Whether a page shows the code of the session, and a phone may claim it. */
export function showsCode(session: Timed, now: Instant): boolean {
  return isUnanswered({ state: stateAt(session, now) })
}

/** Whether the stored session waits for its first answer. */
export function isUnanswered({ state }: Stated): boolean {
  return STATES[state].nonce === 'shown'
}

/** Whether the phone of the session acts by the step nonce. */
export function usesStepNonce({ state }: Stated): boolean {
  return STATES[state].nonce === 'step'
}

/** Whether the session carries a bond that counts. */
export function hasBond({ state }: Stated): boolean {
  return STATES[state].bond
}

/**
 * Whether the session can have been moved by an approval: the same assertion again is then a
 * repetition, and gets the session.
 */
export function canRepeatBond(session: Timed, now: Instant): boolean {
  const { nonce, bond } = STATES[stateAt(session, now)]
  return nonce === 'step' || bond
}

/** Whether the session has expired after its bond: its backend can still report what came of it. */
export function takesLateReport({ state, bondedAt }: Pick<Session, 'state' | 'bondedAt'>): boolean {
  return state === MOVES.expire.to && bondedAt !== null
}

/** Whether a phone may send evidence in this state. */
export function takesEvidence({ state }: Stated): boolean {
  return STATES[state].evidence
}
