import type { CompletionOutcome, PublicEndedReason } from '@bonded/contract'
import type { UnavailableReason } from './outcome.ts'
import type { ScreenName } from './screen.ts'

/** The screen for each ended reason. */
export const ENDED_SCREENS: Record<PublicEndedReason, ScreenName> = {
  user_declined: 'declined',
  user_unexpected: 'unexpected',
  canceled: 'killed',
  not_verified: 'not_verified',
  killed: 'killed',
}

/** The screen for each outcome that the backend reports. */
export const COMPLETED_SCREENS: Record<CompletionOutcome, ScreenName> = {
  accepted: 'completed',
  in_review: 'in_review',
}

/** The screen for each reason for which the widget closes. */
export const UNAVAILABLE_SCREENS: Record<UnavailableReason, ScreenName> = {
  network: 'unreachable',
  container_hidden: 'obstructed',
  canceled: 'killed',
  page_hidden: 'unavailable',
  key_invalid: 'not_set_up',
  origin_not_allowed: 'not_set_up',
  key_of_another_tenant: 'not_set_up',
  key_out_of_scope: 'not_set_up',
  script_not_hosted: 'not_set_up',
  service_refused: 'not_set_up',
  session_not_found: 'unavailable',
  session_endpoint_failed: 'unavailable',
  session_mismatch: 'unavailable',
  completion_secret_exposed: 'unavailable',
  unknown_answer: 'unavailable',
  browser_unsupported: 'not_set_up',
  browser_frame_blocked: 'not_set_up',
  browser_too_old: 'not_set_up',
  built_ins_replaced: 'not_set_up',
  superseded: 'unavailable',
  internal_error: 'unavailable',
}
