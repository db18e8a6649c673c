import type { PromptFailure } from '@bonded/contract'

/*
 * What a failure of the phone's browser, or of the service, leads to. A kind of problem is a
 * sentence of `messages/en.ts` and its buttons, `WAYS_ON`. `tests/failures.test.ts` injects each
 * row.
 */

/** What stops an approval, by what the user can do about it. */
export type ProblemKind =
  | 'link_incomplete'
  | 'qr_code_expired'
  | 'claimed_by_other_phone'
  | 'session_over'
  | 'phone_not_accepted'
  | 'cannot_attest'
  | 'app_only'
  | 'phone_too_new'
  | 'phone_unknown'
  | 'passkey_missing'
  | 'passkey_not_created'
  | 'open_in_browser'
  | 'start_again'
  | 'storage_unavailable'
  | 'app_required'
  | 'offline'
  | 'busy'
  | 'wrong_service'
  | 'unexpected'

/** A button of a problem. `link` shows the link too, for another browser. */
export type WayOn = 'retry' | 'set_up_again' | 'decline' | 'app' | 'link'

/** The buttons of each problem, the primary one first. Every other problem has Close. */
export const WAYS_ON: Readonly<Partial<Record<ProblemKind, readonly WayOn[]>>> = {
  phone_unknown: ['set_up_again'],
  passkey_missing: ['retry', 'set_up_again'],
  passkey_not_created: ['retry', 'link'],
  open_in_browser: ['link'],
  storage_unavailable: ['retry'],
  app_required: ['decline'],
  cannot_attest: ['app'],
  app_only: ['app'],
  offline: ['retry'],
  busy: ['retry'],
  unexpected: ['retry'],
}

/** When a browser asks for a passkey. */
export type Moment =
  /** Creates the key of a phone, for a session that no key of this browser holds. */
  | 'set_up'
  /** Creates another key, for a session that this browser holds. */
  | 'add_key'
  | 'approve'
  /** Signs what opens a request or a list. */
  | 'open'
  /** Looks for a key of a phone that has no record of it. */
  | 'recover'
  /** Signs the removal of a phone. */
  | 'remove'

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
    set_up: {
      denied: 'passkey_not_created',
      failed: 'passkey_not_created',
      final: 'open_in_browser',
    },
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
