/** What was rejected: one word for each verb of this package. */
export type RejectionReason =
  | 'attestation_invalid'
  | 'assertion_invalid'
  | 'receipt_invalid'
  | 'passport_invalid'
  | 'chip_not_authenticated'
  | 'master_list_invalid'

/**
 * Either what was verified or why it was not. A rejection is data: the functions of this package
 * never throw for bytes that they are given. `step` names the check that failed; log it, and do not
 * show it to the client, which could learn from it what to change.
 */
export type Result<
  Value,
  Reason extends RejectionReason = RejectionReason,
  Step extends string = string,
> = { readonly ok: true; readonly value: Value } | Rejection<Reason, Step>

/** A failed verification. */
export interface Rejection<
  Reason extends RejectionReason = RejectionReason,
  Step extends string = string,
> {
  readonly ok: false
  readonly reason: Reason
  readonly step: Step
}

/** A verified value. */
export function accept<Value>(value: Value): { readonly ok: true; readonly value: Value } {
  return { ok: true, value }
}

/** A function that rejects at a step, for one reason. */
export function rejectWith<Reason extends RejectionReason>(reason: Reason) {
  return <Step extends string>(step: Step): Rejection<Reason, Step> => ({ ok: false, reason, step })
}
