import {
  type EventSession,
  type EventType,
  eventTypesOf,
  SESSION_STATES,
  type SessionState,
  type WebhookEvent,
} from '@bonded/contract'
import { iso } from './iso.ts'
import type { DeviceChange } from './device-moves.ts'
import type { Instant, Session } from './session.ts'

/** An event before it has its id. */
export type NewEvent = Omit<WebhookEvent, 'id'>

/**
 * The events of a stored change of a session. A change of the hint alone has none.
 *
 * @param kind of the change: `created`, a state, or a hint
 */
export function eventsOfSession(
  session: Session,
  at: Instant,
  kind: string,
  about: EventDetails = {},
): readonly NewEvent[] {
  const isTransition = kind === 'created' || SESSION_STATES.includes(kind as SessionState)
  if (!isTransition) return []
  const types: EventType[] = [...eventTypesOf(session.state, session.endedReason)]
  if (kind === 'created' && about.inboxUrl !== undefined) types.push('session.waiting')
  return types.map((type) => ({
    type,
    sequence: session.seq,
    timestamp: iso(at),
    data: { session: presentForEvent(session), ...detailsOf(type, session, about) },
  }))
}

/** What the events of an inbox say that its sessions do not have. */
export interface EventDetails {
  /** The page of the inbox in which the session waits. */
  readonly inboxUrl?: string | undefined
  /** Until when the user's report pauses the tenant. */
  readonly inboxPausedUntil?: Instant | undefined
}

function detailsOf(
  type: EventType,
  { wantedSubjectRef }: Session,
  { inboxUrl, inboxPausedUntil }: EventDetails,
): Omit<NewEvent['data'], 'session'> {
  if (type === 'session.waiting')
    return {
      ...(wantedSubjectRef && { subject_ref: wantedSubjectRef }),
      ...(inboxUrl && { inbox_url: inboxUrl }),
    }
  if (type !== 'session.reported') return {}
  const paused = inboxPausedUntil && { inbox_paused_until: iso(inboxPausedUntil) }
  return { advisory: wantedSubjectRef === null, ...paused }
}

function presentForEvent(session: Session): EventSession {
  return {
    id: session.id,
    state: session.state,
    tenant_id: session.tenantId,
    workflow: session.workflow,
    action: session.action,
    created_at: iso(session.createdAt),
    expires_at: iso(session.expiresAt),
    hint: session.hint,
    ended_reason: session.endedReason,
    outcome: session.outcome,
  }
}

/** The changes of a device that its tenants are notified of. */
export const DEVICE_EVENTS: { readonly [Kind in DeviceChange]?: EventType } = {
  suspect: 'device.suspect',
  blocked: 'device.blocked',
  subject_blocked: 'device.blocked',
  key_added: 'device.key_added',
}

/** Only tenants with a bond of the user this recent receive the events of the user's devices. */
export const BOND_OF_TENANT_MS = 90 * 24 * 60 * 60_000

/**
 * The event of a device for one tenant. It names the user and the device as that tenant knows them.
 *
 * @param data.device_ref absent where the event is about all devices of the user
 */
export function eventOfDevice(
  type: EventType,
  at: Instant,
  data: { readonly subject_ref: string; readonly device_ref?: string },
): NewEvent {
  return { type, sequence: 0, timestamp: iso(at), data }
}
