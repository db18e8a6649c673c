import type { PulseVerification, ReviewReason } from '@bonded/contract'
import { adviceFor, type RejectReason } from '../advice.ts'
import type { GateError } from '../errors.ts'

/** A protected submit as it arrived, and what this endpoint of yours protects. */
export interface Submit {
  /** What the form carried; anything else than a text counts as nothing. */
  readonly session_id: string | undefined
  /** Who sends it: the same value as at create, from your own login, never from the form. */
  readonly owner: string
  /** Named by the endpoint that is protected: a bond for a lesser action must not open a greater one. */
  readonly workflow: string
  readonly action: string
  /** `bindingDigest` of the *submitted* form, where create was given one. */
  readonly form_digest?: string
}

interface Passed {
  readonly session_id: string
  readonly owner: string
  readonly verification: PulseVerification
  /** The phone's owner as this tenant may know them: keep it, to ask for the same person next time. */
  readonly subject_ref: string | null
}

/** The bond is good: use it, then complete it. */
export interface AcceptVerdict extends Passed {
  readonly decision: 'accept'
  readonly reasons: readonly []
  readonly advice: readonly []
}

/** The bond is good, with doubts: a person should look before the action has its effect. */
export interface ReviewVerdict extends Passed {
  readonly decision: 'review'
  readonly reasons: readonly ReviewReason[]
  /** A plain sentence for each reason. */
  readonly advice: readonly string[]
}

/** No. Nothing was used. */
export interface RejectVerdict {
  readonly decision: 'reject'
  readonly reasons: readonly RejectReason[]
  /** A plain sentence for each reason: what the person can do. */
  readonly advice: readonly string[]
  /** With `session_unavailable`: what the call to the service ended with. For your log, not for the person. */
  readonly error?: GateError
}

/**
 * The verdict on a protected submit.
 *
 * @example
 * const verdict = await gate.verify({ session_id, owner, workflow, action })
 * if (verdict.decision === 'reject') response.status(403).json({ message: verdict.advice[0] })
 */
export type Verdict = AcceptVerdict | ReviewVerdict | RejectVerdict

/** A refusal with its sentence. */
export function rejected(reason: RejectReason, error?: GateError): RejectVerdict {
  return {
    decision: 'reject',
    reasons: [reason],
    advice: [adviceFor(reason)],
    ...(error && { error }),
  }
}
