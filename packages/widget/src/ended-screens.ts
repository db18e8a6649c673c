import type { CompletionOutcome, PublicEndedReason } from '@bonded/contract'
import type { UnavailableReason } from './outcome.ts'
import type { Screen, ScreenName } from './screen.ts'

/** The screen for each ended reason. */
export const ENDED_SCREENS: Record<PublicEndedReason, ScreenName> = {
  user_declined: 'declined',
  user_unexpected: 'unexpected',
  canceled: 'killed',
  not_verified: 'not_verified',
  killed: 'killed',
  suspended: 'not_set_up',
  decided: 'killed',
}

/** The screen for each outcome that the backend reports. */
export const COMPLETED_SCREENS: Record<CompletionOutcome, ScreenName> = {
  accepted: 'completed',
  in_review: 'in_review',
}

/**
 * The screens of the reasons for which the widget closes. Every other reason has `unavailable`: the
 * user can only start again.
 */
export const UNAVAILABLE_SCREENS: Partial<Record<UnavailableReason, Screen['name']>> = {
  network: 'unreachable',
  container_hidden: 'obstructed',
  canceled: 'killed',
  key_invalid: 'not_set_up',
  origin_not_allowed: 'not_set_up',
  key_of_another_tenant: 'not_set_up',
  key_out_of_scope: 'not_set_up',
  script_not_hosted: 'not_set_up',
  service_refused: 'not_set_up',
  browser_unsupported: 'not_set_up',
  browser_frame_blocked: 'not_set_up',
  confirmed_elsewhere: 'elsewhere',
}
