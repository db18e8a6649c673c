import type { EndedReason, SessionState } from '@bonded/contract'

/** One way a session can move. */
export interface Move {
  readonly from: readonly SessionState[]
  readonly to: SessionState
  readonly endedReason?: EndedReason
}

/**
 * Every way a session can move (protocol 4, States). Nobody else compares states to decide: an operation
 * names a row, the domain judges by it, and the store's guarded statement is built from it.
 */
export const MOVES = {
  bond: { from: ['pending', 'step_up_required'], to: 'bonded' },
  stepUp: { from: ['pending'], to: 'step_up_required' },
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

/** The states nothing leads out of. */
export const TERMINAL: readonly SessionState[] = ['completed', 'killed', 'expired']
