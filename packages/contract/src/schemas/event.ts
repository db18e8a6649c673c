import { EVENT_TYPES } from '../events.ts'
import { DeviceRef } from './device.ts'
import { closed, id, nullable, Timestamp, word } from './primitives.ts'
import { CompletionOutcome, EndedReason, SessionHint, SessionState } from './session.ts'
import { type Static, Type } from './type.ts'

/**
 * A session as an event has it: no token, nonce, link, proof or personal data. An event is a
 * notice, so a backend reads the session before it acts.
 */
export const EventSession = closed({
  id: id('sess'),
  state: SessionState,
  tenant_id: id('ten'),
  workflow: Type.String(),
  action: Type.String(),
  created_at: Timestamp,
  expires_at: Timestamp,
  hint: nullable(SessionHint),
  ended_reason: nullable(EndedReason),
  outcome: nullable(CompletionOutcome),
})
export type EventSession = Static<typeof EventSession>

/** The body of a webhook. Receivers ignore types and members that they do not know. */
export const WebhookEvent = closed({
  type: word(EVENT_TYPES),
  id: Type.String({ description: 'Also in `webhook-id`. The same in every attempt.' }),
  sequence: Type.Integer({
    minimum: 0,
    description: 'Rises within a session, because the order of events is not promised. Else 0.',
  }),
  timestamp: Timestamp,
  data: closed({
    session: Type.Optional(EventSession),
    advisory: Type.Optional(Type.Boolean()),
    subject_ref: Type.Optional(Type.String()),
    inbox_url: Type.Optional(Type.String()),
    inbox_paused_until: Type.Optional(Timestamp),
    device_ref: Type.Optional(DeviceRef),
  }),
})
export type WebhookEvent = Static<typeof WebhookEvent>
