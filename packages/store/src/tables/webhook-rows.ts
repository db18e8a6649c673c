import type { EventType, TenantId } from '@bonded/contract'
import type { Attempt } from '@bonded/core/domain/webhooks'
import type {
  WebhookDelivery,
  WebhookEndpoint,
  WebhookOwner,
} from '@bonded/core/ports/tables/webhook-table'
import type { Row } from '../statement.ts'

export function endpointFromRow(found: Row): WebhookEndpoint {
  return {
    id: found.id as WebhookEndpoint['id'],
    tenantId: found.tenant_id as WebhookOwner,
    url: found.url as string,
    events: found.events === null ? null : (JSON.parse(String(found.events)) as EventType[]),
    scheme: found.scheme as WebhookEndpoint['scheme'],
    loggedCharacters: Number(found.logged_characters),
    sealedSecrets: found.secrets as string,
    previousUntil: instant(found.previous_until),
    createdAt: Number(found.created_at),
    disabledAt: instant(found.disabled_at),
    disabledReason: found.disabled_reason as WebhookEndpoint['disabledReason'],
    failures: Number(found.failures),
    pausedUntil: Number(found.paused_until),
    leasedUntil: Number(found.leased_until),
    auditPosition: Number(found.audit_position),
  }
}

export function deliveryFromRow(found: Row): WebhookDelivery {
  return {
    ordinal: Number(found.ordinal),
    eventId: found.event_id as WebhookDelivery['eventId'],
    endpointId: found.endpoint_id as WebhookDelivery['endpointId'],
    tenantId: found.tenant_id as TenantId,
    type: found.type as EventType,
    payload: found.payload as string,
    createdAt: Number(found.created_at),
    state: found.state as WebhookDelivery['state'],
    dueAt: instant(found.due_at),
    attempts: Number(found.attempts),
    history: JSON.parse(String(found.history)) as Attempt[],
  }
}

export function instant(value: Row[string] | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}
