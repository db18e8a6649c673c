import type { PromptFailure } from '@bonded/contract'
import type { MessageKey } from './messages/en.ts'

/*
 * What a failure of the phone's browser, or of the service, leads to. A kind of problem is a
 * sentence of `messages/en.ts` and its buttons, `WAYS_ON`. `tests/failures.test.ts` injects each
 * row.
 */

/** What stops an approval, by what the user can do about it. Each has a title and a body. */
export type ProblemKind = KindOf<MessageKey>
type KindOf<Key> = Key extends `problem.${infer Kind}.title` ? Kind : never

/** By the code of the phone's error; of a rejection, by the service's reason. */
export const OF_FAILURE: Readonly<Record<string, ProblemKind>> = {
  handoff_unreadable: 'link_incomplete',
  origin_not_usable: 'wrong_service',
  unreachable: 'offline',
  step_up_unsupported: 'app_required',
  not_awaiting: 'session_over',
  challenge_expired: 'qr_code_expired',
  nonce_mismatch: 'qr_code_expired',
  session_not_found: 'qr_code_expired',
  session_claimed: 'claimed_by_other_phone',
  session_not_live: 'session_over',
  device_not_usable: 'phone_not_accepted',
  format_not_enabled: 'phone_not_accepted',
  attestation_invalid: 'phone_not_accepted',
  key_format_not_accepted: 'app_only',
  key_not_attested: 'cannot_attest',
  key_too_new: 'phone_too_new',
  policy_not_met: 'session_over',
  credential_invalid: 'phone_unknown',
  credential_missing: 'phone_unknown',
  device_not_found: 'phone_unknown',
  assertion_invalid: 'phone_unknown',
  request_timeout: 'offline',
  rate_limited: 'busy',
  overloaded: 'busy',
  operation_timeout: 'busy',
  store_unavailable: 'busy',
  not_ready: 'busy',
}

/** A button of a problem. `link` shows the link too, for another browser. */
export type WayOn = 'retry' | 'set_up_again' | 'decline' | 'app' | 'link'

/** The buttons of each problem, the primary one first. Every other problem has Close. */
export const WAYS_ON: Readonly<Partial<Record<ProblemKind, readonly WayOn[]>>> = {
  phone_unknown: ['set_up_again'],
  passkey_missing: ['retry', 'set_up_again'],
  not_created: ['retry', 'link'],
  open_in_browser: ['link'],
  storage_missing: ['link'],
  storage_unavailable: ['retry'],
  app_required: ['decline'],
  cannot_attest: ['app'],
  app_only: ['app'],
  offline: ['retry'],
  busy: ['retry'],
  unexpected: ['retry'],
}

/**
 * When a browser asks for a passkey.
 *
 * | moment | the browser |
 * |---|---|
 * | `set_up` | creates the key of a phone, for a session that no key of this browser holds |
 * | `add_key` | creates another key, for a session that this browser holds |
 * | `approve` | signs the approval |
 * | `open` | signs what opens a request or a list |
 * | `recover` | looks for the key of a phone that has no record of it |
 * | `remove` | signs the removal of a phone |
 */
export type Moment = 'set_up' | 'add_key' | 'approve' | 'open' | 'recover' | 'remove'

/** `ask`: the former screen with a notice, so that the user tries again there. */
export type AfterPrompt = 'ask' | ProblemKind

/** The failures after which the user is asked again at the first time, on a screen that can ask. */
export const FIRST_ASKS: Readonly<Partial<Record<Moment, readonly PromptFailure[]>>> = {
  add_key: ['denied', 'failed'],
  approve: ['denied', 'failed', 'final'],
  open: ['denied'],
}

/**
 * What follows a failed prompt from then on, and in any other case at once. Only a session that
 * this browser does not hold can go on in another one, so only there is anything final: a key that
 * has signed shows that this browser can.
 */
export const AFTER_PROMPT: Readonly<Record<Moment, Readonly<Record<PromptFailure, AfterPrompt>>>> =
  {
    set_up: { denied: 'not_created', failed: 'not_created', final: 'open_in_browser' },
    add_key: { denied: 'unexpected', failed: 'unexpected', final: 'unexpected' },
    approve: { denied: 'passkey_missing', failed: 'unexpected', final: 'unexpected' },
    open: { denied: 'passkey_missing', failed: 'unexpected', final: 'unexpected' },
    recover: { denied: 'ask', failed: 'ask', final: 'open_in_browser' },
    remove: { denied: 'ask', failed: 'ask', final: 'unexpected' },
  }

/** What the service's frame shows after a failed prompt: its button again, or the end. */
export const AFTER_FRAME_PROMPT: Readonly<Record<PromptFailure, 'retry' | 'unsupported'>> = {
  denied: 'retry',
  failed: 'retry',
  final: 'unsupported',
}
