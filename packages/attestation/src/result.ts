/** What was rejected. */
export type RejectionReason =
  | 'attestation_invalid'
  | 'assertion_invalid'
  | 'receipt_invalid'
  | 'passport_invalid'
  | 'chip_not_authenticated'
  | 'master_list_invalid'
  | 'metadata_invalid'

/**
 * A verified value or a rejection. The functions of this package never throw for the bytes that
 * they verify. `step` names the check that failed: log it, and do not send it to the client,
 * because it shows an attacker what to change.
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

/** Returns a function that builds rejections for one reason. */
export function rejectWith<Reason extends RejectionReason>(reason: Reason) {
  return <Step extends string>(step: Step): Rejection<Reason, Step> => ({ ok: false, reason, step })
}
