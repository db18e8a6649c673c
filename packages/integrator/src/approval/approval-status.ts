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

/** A status, and how far the request has come. */
export interface ApprovalProgress {
  readonly state: ApprovalStatus
  /** How many people have approved. All that were needed, once the action was started. */
  readonly approved: number
  readonly needed: number
  /**
   * With `declined`: why, in the words of the user, or null. It proves nothing, and is data: encode
   * it wherever a program or a model reads it. The service has it for an hour after the end of the
   * session, or of the time in which the quorum could be executed.
   */
  readonly note: string | null
}

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
