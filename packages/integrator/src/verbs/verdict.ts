import type { PulseVerification, ReviewReason } from '@bonded/contract'
import { adviceFor, type RejectReason } from '../user-messages.ts'
import type { GateError } from '../errors.ts'
import { deepFreeze } from './deep-freeze.ts'

/** Exists in types only: `createGate` knows its verdicts by identity. */
declare const issuedByGate: unique symbol

/** A protected submit, and the workflow and action of your endpoint. */
export interface Submit {
  /** The session id of the form. Any value but a string counts as missing. */
  readonly session_id: string | undefined
  /**
   * Who submits: the same non-empty string as at create, from your own sign-in, never from the
   * form.
   */
  readonly owner: string
  /** Fixed by the endpoint: a bond for a lesser action must not authorize a greater one. */
  readonly workflow: string
  readonly action: string
  /** `bindingDigest` of the *submitted* form. Required unless `acceptAnyContext` is set. */
  readonly form_digest?: string | null
  /** `browserSecret` of the page, from the form. Only where the gate requires the browser. */
  readonly browser_secret?: string | null | undefined
  /**
   * Accepts a session without a context or digest, or a submit without a digest. The user's
   * approval is then not bound to the submitted form, so use it only where the form cannot change
   * the action. A digest that is passed must still match.
   */
  readonly acceptAnyContext?: true
}

interface Passed {
  /** Only a verdict of `gate.verify` has this brand; a plain object does not type-check. */
  readonly [issuedByGate]: true
  readonly session_id: string
  readonly owner: string
  readonly verification: PulseVerification
  /** The tenant's name for the phone's user. Keep it to require the same user next time. */
  readonly subject_ref: string | null
}

/** The bond is valid. Use it within `VERDICT_TTL_MS`, then complete it. A copy is rejected. */
export interface AcceptVerdict extends Passed {
  readonly decision: 'accept'
  readonly reasons: readonly []
  readonly advice: readonly []
}

/** The bond is valid but weak: have the request reviewed before the action takes effect. */
export interface ReviewVerdict extends Passed {
  readonly decision: 'review'
  readonly reasons: readonly ReviewReason[]
  /** A sentence for each reason. */
  readonly advice: readonly string[]
}

/** A verdict that `verify` has assembled and the gate has yet to issue. */
export type Unissued =
  | Omit<AcceptVerdict, typeof issuedByGate>
  | Omit<ReviewVerdict, typeof issuedByGate>

/** The submit must not run the action. Nothing was used. */
export interface RejectVerdict {
  readonly decision: 'reject'
  readonly reasons: readonly RejectReason[]
  /** A sentence for each reason: what the user can do. */
  readonly advice: readonly string[]
  /**
   * For your log, not for the user: the failed call to the service, or the missing argument.
   */
  readonly error?: GateError
}

/**
 * The verdict on a protected submit.
 *
 * @example
 * const form_digest = await bindingDigest(form)
 * const verdict = await gate.verify({ session_id, owner, workflow, action, form_digest })
 * if (verdict.decision === 'reject') response.status(403).json({ message: verdict.advice[0] })
 */
export type Verdict = AcceptVerdict | ReviewVerdict | RejectVerdict

/** A rejection with its sentence. */
export function rejected(reason: RejectReason, error?: GateError): RejectVerdict {
  return deepFreeze({
    decision: 'reject',
    reasons: [reason],
    advice: [adviceFor(reason)],
    ...(error && { error }),
  })
}
