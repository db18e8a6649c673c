import type {
  WebhookDeliveryList,
  WebhookEndpointRecord,
  WebhookEndpointWithSecret,
  WebhookEventLog,
} from '@bonded/contract'
import { iso, isoOrNull } from '@bonded/core/domain/iso'
import type { Attempt } from '@bonded/core/domain/webhooks'
import type { EndpointWithVerifier } from '@bonded/core/operations/webhook/webhook-endpoints'
import type {
  DeliveryPage,
  WebhookDelivery,
  WebhookEndpoint,
} from '@bonded/core/ports/tables/webhook-table'

/** Presents an endpoint without its secrets. */
export function presentEndpoint(endpoint: WebhookEndpoint): WebhookEndpointRecord {
  return {
    endpoint_id: endpoint.id,
    url: endpoint.url,
    events: endpoint.events === null ? null : [...endpoint.events],
    scheme: endpoint.scheme,
    logged_characters: endpoint.loggedCharacters,
    enabled: endpoint.disabledAt === null,
    disabled_reason: endpoint.disabledReason,
    failures: endpoint.failures,
    paused_until: isoOrNull(endpoint.pausedUntil || null),
    previous_secret_until: isoOrNull(endpoint.previousUntil),
    created_at: iso(endpoint.createdAt),
  }
}

/** Presents an endpoint in the portal. The query of a URL can be a receiver's credential. */
export function presentInPortal(endpoint: WebhookEndpoint): WebhookEndpointRecord {
  const { origin, pathname, search } = new URL(endpoint.url)
  const url = `${origin}${pathname}${search === '' ? '' : '?…'}`
  return { ...presentEndpoint(endpoint), url }
}

/** Presents an endpoint with its new secret, for the response that creates the secret. */
export function presentWithSecret({
  endpoint,
  verifier,
}: EndpointWithVerifier): WebhookEndpointWithSecret {
  const isPublic = endpoint.scheme === 'v1a'
  return {
    ...presentEndpoint(endpoint),
    secret: isPublic ? null : verifier,
    public_key: isPublic ? verifier : null,
  }
}

/** Presents a page of deliveries. */
export function presentDeliveries({ deliveries, next }: DeliveryPage): WebhookDeliveryList {
  return {
    deliveries: deliveries.map(summaryOf),
    next: next && `${next.eventId}.${next.endpointId}`,
  }
}

/** Presents the deliveries of one event with their attempts. */
export function presentEventLog(deliveries: readonly WebhookDelivery[]): WebhookEventLog {
  return {
    deliveries: deliveries.map((delivery) => ({
      ...summaryOf(delivery),
      payload: delivery.payload,
      log: delivery.history.map(presentAttempt),
    })),
  }
}

function summaryOf(delivery: WebhookDelivery): WebhookDeliveryList['deliveries'][number] {
  return {
    event_id: delivery.eventId,
    endpoint_id: delivery.endpointId,
    type: delivery.type,
    state: delivery.state,
    attempts: delivery.attempts,
    next_attempt_at: isoOrNull(delivery.dueAt),
    created_at: iso(delivery.createdAt),
  }
}

function presentAttempt(attempt: Attempt): WebhookEventLog['deliveries'][number]['log'][number] {
  const { at, ms } = attempt
  return 'status' in attempt
    ? { at: iso(at), ms, status: attempt.status, body: attempt.body, error: null }
    : { at: iso(at), ms, status: null, body: null, error: attempt.error }
}
