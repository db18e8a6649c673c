import type { FullSession } from './schemas/session.ts'

/** Below this the integrator looks again. Also where the band `medium` begins. */
export const MIN_ASSERTION_CONFIDENCE = 0.55
/** Below this the phone was not plainly carried. */
export const MIN_CONTINUITY_SCORE = 0.6

/** What the integrator's own store says about the submit. */
export interface GateExpectation {
  readonly workflow: string
  readonly action: string
  /** The passport setting of the workflow's policy. */
  readonly passport?: 'none' | 'optional' | 'required'
  /** The customer, where known. */
  readonly subject_ref?: string
  /** The digest recomputed from the submitted form. A session bound to a digest passes only with the same one. */
  readonly context_digest?: string
  readonly tenant_id?: string
}

/** What is known when a protected submit arrives. */
export interface GateFacts {
  /** The session id of the submit; undefined when the form carried none. */
  readonly session_id: string | undefined
  /** The integrator's own row for this session, if it has one for this user; undefined if not. */
  readonly pending: { readonly workflow: string; readonly action: string } | undefined
  /** What GET answered with the server credential; undefined when it did not answer 200. */
  readonly session: FullSession | undefined
  readonly expected: GateExpectation
  /** The time to judge expiry by, milliseconds since the epoch. The service's own `server_time` is best. */
  readonly now: number
}

export type RejectReason =
  | 'session_missing'
  | 'session_unavailable'
  | 'session_not_bonded'
  | 'workflow_mismatch'
  | 'action_mismatch'
  | 'session_expired'
  | 'session_not_ours'
  | 'tenant_mismatch'
  | 'verification_missing'
  | 'device_not_possessed'
  | 'local_auth_not_verified'
  | 'passport_chip_missing'
  | 'context_mismatch'
  | 'subject_mismatch'
export type ReviewReason = 'low_confidence' | 'sim_swap_recent' | 'low_continuity'

/** The verdict on a protected submit. `accept` asks for the last step: complete the session once the action is durable. */
export type GateVerdict =
  | { readonly decision: 'accept'; readonly reasons: readonly [] }
  | { readonly decision: 'review'; readonly reasons: readonly ReviewReason[] }
  | { readonly decision: 'reject'; readonly reasons: readonly RejectReason[] }

/**
 * The checks an integrator makes before it accepts a protected submit (description, part 4, steps 1 to 7).
 * Pure: it fetches nothing. Step 8, completing, comes after the action has durably succeeded.
 *
 * A confidence that is not a number counts as 0, and an unknown state as not bonded: unknown means no.
 */
export function judgeSubmit(facts: GateFacts): GateVerdict {
  const { session, expected, pending } = facts
  // 1. A submit without a session id.
  if (facts.session_id === undefined || facts.session_id === '') return reject('session_missing')
  // 2. GET must have succeeded, for this very session, and the state be `bonded`.
  if (session === undefined || session.id !== facts.session_id) return reject('session_unavailable')
  if (session.state !== 'bonded') return reject('session_not_bonded')
  if (expected.tenant_id !== undefined && session.tenant_id !== expected.tenant_id)
    return reject('tenant_mismatch')
  // 3. The expected workflow and action, and time left.
  if (session.workflow !== expected.workflow) return reject('workflow_mismatch')
  if (session.action !== expected.action) return reject('action_mismatch')
  if (!(Date.parse(session.expires_at) > facts.now)) return reject('session_expired')
  // 4. Our own row, for the same workflow and action.
  if (
    pending === undefined ||
    pending.workflow !== session.workflow ||
    pending.action !== session.action
  )
    return reject('session_not_ours')
  // 5. Possession and local authentication.
  const { verification } = session
  if (verification === null || verification === undefined) return reject('verification_missing')
  if (verification.device_possession !== true) return reject('device_not_possessed')
  if (verification.local_auth !== 'verified') return reject('local_auth_not_verified')
  // 7 before 6: a missing chip is final, a doubt is not.
  if (expected.passport === 'required' && verification.passport?.tier !== 'chip')
    return reject('passport_chip_missing')
  // What the protocol adds: the form that was signed is the form that was sent, by the customer it names.
  // A session bound to a form passes only with that form: forgetting the digest must not switch the check off.
  if (session.context?.digest !== expected.context_digest) return reject('context_mismatch')
  if (expected.subject_ref !== undefined && session.subject_ref !== expected.subject_ref)
    return reject('subject_mismatch')
  // 6. Doubts go to a person.
  const doubts: ReviewReason[] = []
  const confidence =
    verification.human_presence_confidence ?? verification.assertion_confidence ?? 0
  if (!atLeast(confidence, MIN_ASSERTION_CONFIDENCE)) doubts.push('low_confidence')
  if ((verification.carrier?.sim_swap_recent ?? false) !== false) doubts.push('sim_swap_recent')
  if (!atLeast(verification.sensor_continuity?.continuity_score ?? 0, MIN_CONTINUITY_SCORE))
    doubts.push('low_continuity')
  return doubts.length > 0
    ? { decision: 'review', reasons: doubts }
    : { decision: 'accept', reasons: [] }
}

/** JavaScript would call '0.9' and true numbers; what came over the wire must be one. */
function atLeast(score: unknown, threshold: number): boolean {
  return typeof score === 'number' && score >= threshold
}

function reject(reason: RejectReason): GateVerdict {
  return { decision: 'reject', reasons: [reason] }
}
