import type { EndedReason, SessionState } from '@bonded/contract'

/** One transition of a session. */
export interface Move {
  readonly from: readonly SessionState[]
  readonly to: SessionState
  readonly endedReason?: EndedReason
}

/**
 * Every transition of a session (protocol 4, States). No other code compares states to decide: an
 * operation names a row, the domain evaluates it, and the store builds its guarded statement from
 * it.
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
  expire: { from: ['pending', 'step_up_required', 'bonded'], to: 'expired' },
  complete: { from: ['bonded'], to: 'completed' },
} as const satisfies Record<string, Move>

/** The final states. */
export const TERMINAL: readonly SessionState[] = ['completed', 'killed', 'expired']
