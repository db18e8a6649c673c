import type { ApprovalState } from './approval-store.ts'

/**
 * What has become of a request. `executed` and `outcome_unknown` are of an action that was started.
 * `ended` is any other end: `execute` throws its reasons.
 */
export type ApprovalStatus =
  | 'waiting'
  | 'approved'
  | 'review'
  | 'declined'
  | 'reported'
  | 'expired'
  | 'executed'
  | 'outcome_unknown'
  | 'ended'

/** The status of a row that waits no more, whatever the service has. */
export const STARTED = {
  withdrawn: 'ended',
  running: 'outcome_unknown',
  unknown: 'outcome_unknown',
  done: 'executed',
  completed: 'executed',
  reported_late: 'executed',
  unreported: 'executed',
  failed: 'ended',
} as const satisfies Record<Exclude<ApprovalState, 'waiting'>, ApprovalStatus>
