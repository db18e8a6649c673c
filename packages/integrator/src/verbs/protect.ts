import { describeFailure, type ReviewReason } from '@bonded/contract'
import type { RejectReason } from '../user-messages.ts'
import { GateError, type GateErrorCode } from '../errors.ts'
import { completeBond } from './complete.ts'
import type { GateDependencies } from './dependencies.ts'
import { useBond } from './use.ts'
import { type AcceptVerdict, rejected, type ReviewVerdict, type Submit } from './verdict.ts'
import { verifySubmit } from './verify.ts'

/**
 * A submit and its actions. An action may throw only if nothing of it is durable: the bond is then
 * unused again.
 */
export interface ProtectedSubmit<Tx, T> extends Submit {
  /** The protected action. Runs at most once for a bond. */
  readonly accept: (tx: Tx, verdict: AcceptVerdict) => Promise<T>
  /**
   * Stores the request for review by an employee. If omitted, a doubtful submit runs no action, and
   * its bond stays unused.
   */
  readonly review?: (tx: Tx, verdict: ReviewVerdict) => Promise<T>
}

/** The outcome of a protected submit. */
export type ProtectOutcome<T> =
  | { readonly outcome: 'completed'; readonly decision: 'accept' | 'review'; readonly result: T }
  /**
   * The action is durable and its row used, but the service has not confirmed the completion.
   * Report success to the user. If `error.retryable`, retry `gate.complete` with the
   * outcome of the decision.
   */
  | {
      readonly outcome: 'completion_pending'
      readonly decision: 'accept' | 'review'
      readonly result: T
      readonly error: GateError
    }
  /** The bond is weak, and no `review` action was passed. Nothing ran. */
  | {
      readonly outcome: 'review'
      readonly reasons: readonly ReviewReason[]
      readonly advice: readonly string[]
    }
  | {
      readonly outcome: 'rejected'
      readonly reasons: readonly RejectReason[]
      readonly advice: readonly string[]
      readonly error?: GateError
    }

const NOT_DURABLE: readonly GateErrorCode[] = ['action_not_committed', 'session_unknown']

/**
 * Verify, use with the action, complete. The phone and the page show the user the decision.
 *
 * @throws {GateError} `action_not_committed` if the action is not durable, for example because it
 *   swallowed an error of its database
 */
export async function protectSubmit<Tx, T>(
  gate: GateDependencies<Tx>,
  submit: ProtectedSubmit<Tx, T>,
): Promise<ProtectOutcome<T>> {
  const verdict = await verifySubmit(gate, submit)
  if (verdict.decision === 'reject') {
    const { decision: _decision, ...rejection } = verdict
    return { outcome: 'rejected', ...rejection }
  }
  const action = actionFor(submit, verdict)
  if (action === undefined)
    return { outcome: 'review', reasons: verdict.reasons, advice: verdict.advice }
  const used = await useBond(gate, verdict, action)
  if (!used.used) {
    const reason = used.reason === 'already_used' ? 'already_used' : 'session_expired'
    const { reasons, advice } = rejected(reason)
    return { outcome: 'rejected', reasons, advice }
  }
  const done = { decision: verdict.decision, result: used.result }
  try {
    const outcome = verdict.decision === 'review' ? 'in_review' : 'accepted'
    await completeBond(gate, verdict.session_id, { outcome })
    return { outcome: 'completed', ...done }
  } catch (cause) {
    // Without a used row, nothing shows that the action is durable, whatever the store claimed.
    if (cause instanceof GateError && NOT_DURABLE.includes(cause.code)) throw cause
    // The action is durable, so an error from here on must not be reported as its failure.
    const error =
      cause instanceof GateError
        ? cause
        : new GateError(
            'service_unavailable',
            `The pending store could not be read: ${describeFailure(cause)}.`,
            { cause },
          )
    return { outcome: 'completion_pending', ...done, error }
  }
}

function actionFor<Tx, T>(
  submit: ProtectedSubmit<Tx, T>,
  verdict: AcceptVerdict | ReviewVerdict,
): ((tx: Tx) => Promise<T>) | undefined {
  if (verdict.decision === 'accept') return (tx) => submit.accept(tx, verdict)
  const { review } = submit
  return review && ((tx) => review(tx, verdict))
}
