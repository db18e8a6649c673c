import type { EventId, WebhookEndpointId } from '@bonded/contract'
import { accept, reject, type Result } from '../../domain/rejection.ts'
import type { Instant } from '../../domain/session.ts'
import type {
  DeliveryPage,
  DeliveryQuery,
  WebhookDelivery,
  WebhookOwner,
} from '../../ports/tables/webhook-table.ts'
import type { Service } from '../service.ts'
import { findEndpoint } from './webhook-endpoints.ts'

/** Deliveries of a tenant, newest first. */
export function listDeliveries({ store }: Service, query: DeliveryQuery): Promise<DeliveryPage> {
  return store.read((tables) => tables.webhooks.deliveries(query))
}

/** The deliveries of an event, one for each endpoint. */
export async function inspectEvent(
  { store }: Service,
  id: EventId | undefined,
  by: WebhookOwner,
): Promise<Result<readonly WebhookDelivery[]>> {
  const all = id === undefined ? [] : await store.read((tables) => tables.webhooks.deliveriesOf(id))
  const own = all.filter(({ tenantId }) => by === 'operator' || tenantId === by)
  return own.length === 0 ? reject('webhook_event_not_found') : accept(own)
}

/**
 * Sends an event again, also one that was delivered, to one endpoint or to all that got it.
 *
 * @returns how many deliveries are due now
 */
export async function retryEvent(
  service: Service,
  id: EventId | undefined,
  {
    endpointId,
    by,
  }: { readonly endpointId?: WebhookEndpointId | undefined; readonly by: WebhookOwner },
): Promise<Result<number>> {
  if (id === undefined) return reject('webhook_event_not_found')
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    const wanted = (yield* tables.webhooks.deliveriesOf(id)).filter(
      (delivery) =>
        (by === 'operator' || delivery.tenantId === by) &&
        (endpointId === undefined || delivery.endpointId === endpointId),
    )
    if (wanted.length === 0) return reject('webhook_event_not_found')
    for (const delivery of wanted) yield* tables.webhooks.retry(delivery, now)
    return accept(wanted.length)
  })
}

/**
 * Sends again every event since then that failed or was held while the endpoint was disabled.
 *
 * @returns how many deliveries are due now
 */
export async function recoverEndpoint(
  service: Service,
  id: WebhookEndpointId | undefined,
  { since, by }: { readonly since: Instant; readonly by: WebhookOwner },
): Promise<Result<number>> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    const found = yield* findEndpoint(tables, id, by)
    if (!found.ok) return found
    return accept(yield* tables.webhooks.recover(found.value.id, since, now))
  })
}
