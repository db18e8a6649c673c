import { hash } from 'node:crypto'
import { type EventId, makeId, type TenantId } from '@bonded/contract'
import { type EventDetails, eventsOfSession, type NewEvent } from '@bonded/core/domain/events'
import type { Instant, Session } from '@bonded/core/domain/session'
import type { Work } from '@bonded/core/ports/work'
import { sent } from '../statement.ts'

/** One row for each endpoint of the tenant that wants the event. */
const INSERT = `insert into webhook_delivery
    (event_id, endpoint_id, tenant_id, session_id, type, payload, created_at, state, due_at)
  select $1, id, tenant_id, $3, $4, $5, cast($6 as bigint),
    case when disabled_at is null then 'pending' else 'held' end,
    case when disabled_at is null then cast($6 as bigint) end
  from webhook_endpoint where tenant_id = $2 and (events is null or events like '%"' || $4 || '"%')
  on conflict (event_id, endpoint_id) do nothing`

/** A change of a session, as its events describe it. */
export interface EventOfSession {
  readonly at: Instant
  /** `created`, a state, or a hint. */
  readonly kind: string
  readonly reason?: string | null
  readonly about?: EventDetails | undefined
}

/** Writes the events of a change of a session, in the unit that makes the change. */
export function* writeEvents(session: Session, change: EventOfSession): Work<void> {
  const { at, kind, about } = change
  for (const event of eventsOfSession(session, at, kind, about)) {
    const eventId = eventIdOf(`${session.id}\n${session.seq}\n${event.type}`)
    yield* writeEvent(event, { eventId, at, tenantId: session.tenantId, sessionId: session.id })
  }
}

/** Writes an event for all endpoints of a tenant that want it, without waiting for the result. */
export function writeEvent(
  event: NewEvent,
  to: { eventId: EventId; at: Instant; tenantId: TenantId; sessionId: string | null },
): Work<void> {
  const payload = JSON.stringify({ ...event, id: to.eventId })
  return sent(INSERT, [to.eventId, to.tenantId, to.sessionId, event.type, payload, to.at])
}

/** An id that follows from the change, so that a unit that runs again makes the same event. */
export function eventIdOf(change: string): EventId {
  return makeId('evt', hash('sha256', change, 'buffer').subarray(0, 16))
}
