import type { QuorumRejectReason, RejectReason, ReviewReason } from '@bonded/contract'

/** What to do about each error of an approval. */
export const APPROVAL_REMEDIES = {
  approval_unknown: 'Use the store, the id and the owner of the request.',
  arguments_invalid: 'Pass arguments that are a JSON object. The message names the member.',
  text_too_long: 'Request less at once: a person reads all of it before approving.',
  not_approved: 'Wait until the user approves, or make a new request. See `reasons`.',
  outcome_unknown: 'Find out whether the action happened, and pass the answer to `reconcile`.',
  already_executed: 'Make a new request: an approval runs one action.',
} as const

/** What a check of the gate finds, of one session or of a quorum. */
export type ApprovalReason = RejectReason | ReviewReason | QuorumRejectReason

export type ApprovalErrorCode = keyof typeof APPROVAL_REMEDIES

/** Why an approval did not run. Branch on `code`, never on the texts. */
export class ApprovalError extends Error {
  override readonly name = 'ApprovalError'
  readonly code: ApprovalErrorCode
  readonly remedy: string
  /** With `not_approved`: what the gate's checks found. */
  readonly reasons: readonly ApprovalReason[]

  constructor(
    code: ApprovalErrorCode,
    message: string,
    { reasons = [], cause }: { reasons?: readonly ApprovalReason[]; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
    this.remedy = APPROVAL_REMEDIES[code]
    this.reasons = reasons
  }
}

/**
 * Thrown by an action that has done nothing: its approval can be executed again. After any other
 * error, the outcome is unknown.
 *
 * @example if (!(await bank.isOpen())) throw new NotStarted('the bank is closed')
 */
export class NotStarted extends Error {
  override readonly name = 'NotStarted'
}
