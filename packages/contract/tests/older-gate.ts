import type { FullSession } from '../src/index.ts'

/*
 * The gate of commit 54c310bb, unchanged: it knows no quorum. Tenants that do not update run it, so
 * half of an approval must not pass it either.
 */

type Verification = NonNullable<FullSession['verification']>

/** Below this confidence a submit goes to review. The band `medium` begins here too. */
export const MIN_ASSERTION_CONFIDENCE = 0.55
/** Below this continuity score a submit goes to review. */
export const MIN_CONTINUITY_SCORE = 0.6

/** The backend's own requirements for the submit, from its store and configuration. */
export interface GateExpectation {
  readonly workflow: string
  readonly action: string
  /** The passport setting of the workflow's policy. */
  readonly passport?: 'none' | 'optional' | 'required'
  /** The user's `subject_ref` of an earlier bond, where known. */
  readonly subject_ref?: string
  /** The digest recomputed from the submitted form. Required unless `acceptAnyContext` is true. */
  readonly context_digest?: string
  /**
   * Accepts a session without a digest, or a submit without one. Nothing then binds the approval to
   * the submitted form. A digest that is passed must still match.
   */
  readonly acceptAnyContext?: true
  readonly tenant_id?: string
  /** Required where the workflow requires the proof of the browser: the page's origin. */
  readonly browser?: { readonly origin: string }
}

/** The facts of a protected submit. */
export interface GateFacts {
  /** The session id of the submit; undefined when the form carried none. */
  readonly session_id: string | undefined
  /** Who submits, from the backend's own sign-in: a non-empty string. */
  readonly owner: string
  /** The backend's own row for this session; undefined if there is none. */
  readonly pending:
    | { readonly workflow: string; readonly action: string; readonly owner: string }
    | undefined
  /** The session as GET returned it to the server credential; undefined unless it returned 200. */
  readonly session: FullSession | undefined
  readonly expected: GateExpectation
  /** The time to judge expiry by, in milliseconds since the epoch: the session's `server_time`. */
  readonly now: number
}

export type RejectReason =
  | 'session_missing'
  | 'session_unavailable'
  | 'session_not_bonded'
  | 'tenant_suspended'
  | 'workflow_mismatch'
  | 'action_mismatch'
  | 'session_expired'
  | 'session_not_ours'
  | 'tenant_mismatch'
  | 'verification_missing'
  | 'device_not_possessed'
  | 'local_auth_not_verified'
  | 'passport_chip_missing'
  | 'context_missing'
  | 'context_mismatch'
  | 'subject_mismatch'
  | 'browser_not_proved'
export type ReviewReason = 'low_confidence' | 'sim_swap_recent' | 'low_continuity'

/** The judgement of a protected submit. After `accept`, act and then complete the session. */
export type GateVerdict =
  | { readonly decision: 'accept'; readonly reasons: readonly [] }
  | { readonly decision: 'review'; readonly reasons: readonly ReviewReason[] }
  | { readonly decision: 'reject'; readonly reasons: readonly RejectReason[] }

/**
 * The checks a backend makes before it accepts a protected submit (description, part 4, steps 1 to
 * 7). Pure: it fetches nothing. Step 8, completing, comes after the action is durable.
 *
 * A confidence that is not a number counts as 0, and an unknown state as not bonded.
 */
export function judgeSubmit(facts: GateFacts): GateVerdict {
  const { session } = facts
  // 1. A submit without a session id.
  if (facts.session_id === undefined || facts.session_id === '') return reject('session_missing')
  // 2. GET must have succeeded, for this very session.
  if (session === undefined || session.id !== facts.session_id) return reject('session_unavailable')
  const reason = sessionRejection(facts, session) ?? verificationRejection(facts, session)
  if (reason !== undefined) return reject(reason)
  // 6. Doubts go to a reviewer.
  const doubts = doubtsOf(session)
  return doubts.length > 0
    ? { decision: 'review', reasons: doubts }
    : { decision: 'accept', reasons: [] }
}

/** Steps 2 to 4: the state, the tenant, the workflow, the time and the backend's own row. */
function sessionRejection(facts: GateFacts, session: FullSession): RejectReason | undefined {
  const { expected, pending, owner } = facts
  if (session.state !== 'bonded')
    return session.ended_reason === 'tenant_suspended' ? 'tenant_suspended' : 'session_not_bonded'
  if (expected.tenant_id !== undefined && session.tenant_id !== expected.tenant_id)
    return 'tenant_mismatch'
  // 3. The expected workflow and action, and time left.
  if (session.workflow !== expected.workflow) return 'workflow_mismatch'
  if (session.action !== expected.action) return 'action_mismatch'
  if (!(Date.parse(session.expires_at) > facts.now)) return 'session_expired'
  // 4. The backend's own row, of the same owner, for the same workflow and action. Two missing
  // owners are not the same owner: every visitor without a sign-in could use every other's bond.
  const isOurs =
    isOwner(owner) &&
    pending?.owner === owner &&
    pending.workflow === session.workflow &&
    pending.action === session.action
  return isOurs ? undefined : 'session_not_ours'
}

/** Steps 5 and 7, the digest and the subject. Step 7 precedes 6: a missing chip is final. */
function verificationRejection(facts: GateFacts, session: FullSession): RejectReason | undefined {
  const { expected } = facts
  const { verification } = session
  // 5. Possession and local authentication.
  if (verification === null || verification === undefined) return 'verification_missing'
  if (verification.device_possession !== true) return 'device_not_possessed'
  if (verification.local_auth !== 'verified') return 'local_auth_not_verified'
  // 7. The passport chip.
  if (expected.passport === 'required' && verification.passport?.tier !== 'chip')
    return 'passport_chip_missing'
  // The protocol adds: the form that the user approved is the form that was submitted.
  const context = contextRejection(session, expected)
  if (context !== undefined) return context
  if (expected.subject_ref !== undefined && session.subject_ref !== expected.subject_ref)
    return 'subject_mismatch'
  return browserRejection(verification, expected.browser?.origin)
}

/**
 * Only the expected origin passes. A proof without an expected origin never passes: the backend
 * does not know that the workflow requires the browser, and would take any origin and any secret.
 */
function browserRejection(
  { browser }: Verification,
  expected: string | undefined,
): RejectReason | undefined {
  if (expected === undefined && (browser === undefined || browser === null)) return undefined
  return expected !== undefined && browser?.origin === expected ? undefined : 'browser_not_proved'
}

/** A session passes only with its digest, so that omitting the digest on a side fails closed. */
function contextRejection(
  session: FullSession,
  { context_digest, acceptAnyContext }: GateExpectation,
): RejectReason | undefined {
  if (context_digest === undefined && acceptAnyContext === true) return undefined
  const approved = session.context?.digest
  if (context_digest === undefined || approved === undefined || approved === null)
    return 'context_missing'
  return context_digest === approved ? undefined : 'context_mismatch'
}

function doubtsOf({ verification }: FullSession): readonly ReviewReason[] {
  const doubts: ReviewReason[] = []
  const confidence =
    verification?.human_presence_confidence ?? verification?.assertion_confidence ?? 0
  if (!atLeast(confidence, MIN_ASSERTION_CONFIDENCE)) doubts.push('low_confidence')
  if ((verification?.carrier?.sim_swap_recent ?? false) !== false) doubts.push('sim_swap_recent')
  if (!atLeast(verification?.sensor_continuity?.continuity_score ?? 0, MIN_CONTINUITY_SCORE))
    doubts.push('low_continuity')
  return doubts
}

/**
 * Whether a value can own a bond: a string with at least one character that is not white space.
 *
 * @example isOwner(undefined) // false
 */
export function isOwner(owner: unknown): owner is string {
  return typeof owner === 'string' && owner.trim() !== ''
}

/** JavaScript compares '0.9' and true with numbers too; a score must be a number. */
function atLeast(score: unknown, threshold: number): boolean {
  return typeof score === 'number' && score >= threshold
}

function reject(reason: RejectReason): GateVerdict {
  return { decision: 'reject', reasons: [reason] }
}
