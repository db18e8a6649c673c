/** The six states. This list is closed within `/api/v1`. */
export const SESSION_STATES = [
  'pending',
  'bonded',
  'step_up_required',
  'completed',
  'killed',
  'expired',
] as const
type SessionState = (typeof SESSION_STATES)[number]

/** Progress that a watcher sees between two states. This list is open: it may gain words. */
export const SESSION_HINTS = [
  'waiting_for_scan',
  'scanned',
  'evaluating',
  'step_up',
  'browser',
] as const

/** Why a session was killed, as its tenant reads it. */
export const ENDED_REASONS = [
  'user_declined',
  'user_unexpected',
  'canceled',
  'policy_not_met',
  'too_many_attempts',
  'killed_by_tenant',
  'killed_by_operator',
  'tenant_suspended',
  'decided',
] as const

/** Why a session was killed, as a browser or a phone reads it: never which check failed. */
export const PUBLIC_ENDED_REASONS = [
  'user_declined',
  'user_unexpected',
  'canceled',
  'not_verified',
  'killed',
  'suspended',
  'decided',
] as const

/** What a backend can say about a completed request. This list is open: it may gain words. */
export const COMPLETION_OUTCOMES = ['accepted', 'in_review'] as const

/** What a widget can report about its container. Only `ok` means that every rule was checked. */
export const CONTAINMENT_VERDICTS = ['ok', 'unverified', 'breached'] as const
export type ContainmentVerdict = (typeof CONTAINMENT_VERDICTS)[number]

/** The rules of the container contract, by what breaks them. */
export const CONTAINER_BREACHES = [
  'detached',
  'not_displayed',
  'not_visible',
  'not_interactive',
  'transparent',
  'filtered',
  'masked',
  'distorted',
  'scaled',
  'too_small',
  'clipped',
  'off_screen',
  'covered',
] as const
export type ContainerBreach = (typeof CONTAINER_BREACHES)[number]

/**
 * Whether a session can never change again.
 *
 * @example hasEnded('bonded') // false: it can still be completed
 */
export function hasEnded(state: SessionState): boolean {
  return state === 'completed' || state === 'killed' || state === 'expired'
}

/**
 * Whether a session waits for an answer of the phone.
 *
 * @example awaitsPhone('step_up_required') // true
 */
export function awaitsPhone(state: SessionState): boolean {
  return state === 'pending' || state === 'step_up_required'
}
