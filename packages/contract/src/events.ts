import type { EndedReason, SessionState } from './schemas/session.ts'

/** Every event that a webhook endpoint can receive, and when the service sends it. */
export const EVENTS = {
  'session.created': 'A session was created.',
  'session.waiting':
    'A request waits in the inbox of the user. Sent beside `session.created`. Notify the user, with `inbox_url`.',
  'session.step_up_required':
    'The phone approved, and more is required: further proof from the phone, or the proof of the browser. `hint` says which.',
  'session.bonded': 'The approval met the policy. Read the session before you act.',
  'session.completed': 'Your backend completed the session.',
  'session.killed': 'The session ended without a completion. `ended_reason` says why.',
  'session.expired': 'The time of the session ended.',
  'session.reported':
    'The user said on the phone that they did not start the request. Sent beside `session.killed`. `advisory` is true if the session named no user: anyone who saw the QR code can then report it.',
  'device.suspect': 'The counter of a phone key did not rise. The key may have been copied.',
  'device.blocked': 'The operator blocked a phone key of a user, or all of them.',
  'device.key_added': 'A user added a phone key. It was approved with an earlier one.',
  'webhook.test': 'You requested a test of the endpoint.',
} as const

export type EventType = keyof typeof EVENTS

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[]

const BY_STATE: Readonly<Record<SessionState, EventType>> = {
  pending: 'session.created',
  step_up_required: 'session.step_up_required',
  bonded: 'session.bonded',
  completed: 'session.completed',
  killed: 'session.killed',
  expired: 'session.expired',
}

/**
 * The events of a transition, by the state that it leads to.
 *
 * @example eventTypesOf('killed', 'user_unexpected') // ['session.killed', 'session.reported']
 */
export function eventTypesOf(
  state: SessionState,
  reason: EndedReason | null,
): readonly EventType[] {
  const type = BY_STATE[state]
  return reason === 'user_unexpected' ? [type, 'session.reported'] : [type]
}
