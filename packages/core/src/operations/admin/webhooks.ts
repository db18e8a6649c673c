import { type EventId, REASONS, type WebhookEndpointId } from '@bonded/contract'
import type { Result } from '../../domain/rejection.ts'
import type { Instant } from '../../domain/session.ts'
import type {
  DeliveryPage,
  DeliveryQuery,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookOwner,
} from '../../ports/tables/webhook-table.ts'
import type { Service } from '../service.ts'
import * as deliveries from '../webhook/webhook-deliveries.ts'
import * as endpoints from '../webhook/webhook-endpoints.ts'
import { OperatorError } from './operator-error.ts'
import { findTenant } from './tenants.ts'

export type { EndpointWithVerifier } from '../webhook/webhook-endpoints.ts'

/** What the operator does with the webhooks of every tenant. A rejection is an `OperatorError`. */
const by = 'operator'

export async function createEndpoint(
  service: Service,
  given: endpoints.NewEndpoint,
): Promise<endpoints.EndpointWithVerifier> {
  await findOwner(service, given.tenantId)
  return accepted(await endpoints.createEndpoint(service, given, by))
}

export async function listEndpoints(
  service: Service,
  tenantId: WebhookOwner,
): Promise<readonly WebhookEndpoint[]> {
  await findOwner(service, tenantId)
  return endpoints.listEndpoints(service, tenantId)
}

export async function updateEndpoint(
  service: Service,
  id: WebhookEndpointId,
  change: endpoints.EndpointChange,
): Promise<WebhookEndpoint> {
  return accepted(await endpoints.updateEndpoint(service, id, { ...change, by }))
}

export async function rotateEndpoint(
  service: Service,
  id: WebhookEndpointId,
): Promise<endpoints.EndpointWithVerifier> {
  return accepted(await endpoints.rotateEndpoint(service, id, by))
}

export async function removeEndpoint(service: Service, id: WebhookEndpointId): Promise<void> {
  accepted(await endpoints.removeEndpoint(service, id, by))
}

export async function testEndpoint(service: Service, id: WebhookEndpointId): Promise<EventId> {
  return accepted(await endpoints.testEndpoint(service, id, by))
}

export async function listDeliveries(
  service: Service,
  query: DeliveryQuery,
): Promise<DeliveryPage> {
  await findOwner(service, query.tenantId)
  return deliveries.listDeliveries(service, query)
}

export async function inspectEvent(
  service: Service,
  id: EventId,
): Promise<readonly WebhookDelivery[]> {
  return accepted(await deliveries.inspectEvent(service, id, by))
}

/** @returns how many deliveries are due now */
export async function retryEvent(
  service: Service,
  id: EventId,
  endpointId?: WebhookEndpointId,
): Promise<number> {
  return accepted(await deliveries.retryEvent(service, id, { endpointId, by }))
}

/** @returns how many deliveries are due now */
export async function recoverEndpoint(
  service: Service,
  id: WebhookEndpointId,
  since: Instant,
): Promise<number> {
  return accepted(await deliveries.recoverEndpoint(service, id, { since, by }))
}

async function findOwner(service: Service, owner: WebhookOwner): Promise<void> {
  if (owner !== 'operator') await findTenant(service, owner)
}

function accepted<T>(result: Result<T>): T {
  if (result.ok) return result.value
  const { reason, detail } = result.rejection
  const { code, message } = REASONS[reason]
  // Only the operator can allow another host, so the API does not mention the setting.
  const advice = reason === 'webhook_url_invalid' ? 'BONDED_WEBHOOK_HOSTS allows others.' : ''
  throw new OperatorError([message, detail, advice].filter(Boolean).join(' '), {
    code:
      code === 'not_found'
        ? 'not_found'
        : reason === 'webhook_url_invalid'
          ? 'invalid'
          : 'conflict',
  })
}
