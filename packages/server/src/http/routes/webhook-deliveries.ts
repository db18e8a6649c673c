import { DELIVERY_CURSOR, ENDPOINTS, parseId, parseInstant } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import {
  inspectEvent,
  listDeliveries,
  recoverEndpoint,
  retryEvent,
} from '@bonded/core/operations/webhook/webhook-deliveries'
import type { DeliveryKey } from '@bonded/core/ports/tables/webhook-table'
import { presentDeliveries, presentEventLog } from '../response/present-webhook.ts'
import { manage } from './manage.ts'

const PAGE = '50'

export const listWebhookDeliveriesRoute = manage(
  ENDPOINTS.listWebhookDeliveries,
  async ({ service, query }, tenantId) => {
    const { state, type, endpoint_id = '', before = '', limit = PAGE } = query
    const page = await listDeliveries(service, {
      tenantId,
      state,
      type,
      endpointId: parseId('we', endpoint_id),
      before: cursorOf(before),
      limit: Number(limit),
    })
    return accept(page)
  },
  (page) => ['deliveries', presentDeliveries(page)],
)

export const readWebhookEventRoute = manage(
  ENDPOINTS.readWebhookEvent,
  ({ service, params }, tenantId) => inspectEvent(service, params.event_id, tenantId),
  (found) => ['log', presentEventLog(found)],
)

export const retryWebhookEventRoute = manage(
  ENDPOINTS.retryWebhookEvent,
  ({ service, params, body }, by) =>
    retryEvent(service, params.event_id, { endpointId: parseId('we', body.endpoint_id ?? ''), by }),
  (deliveries) => ['due', { deliveries }],
)

export const recoverWebhookEndpointRoute = manage(
  ENDPOINTS.recoverWebhookEndpoint,
  async ({ service, params, body }, by) => {
    const since = parseInstant(body.since)
    if (since === undefined) return reject('invalid_member', { param: 'since' })
    return recoverEndpoint(service, params.endpoint_id, { since, by })
  },
  (deliveries) => ['due', { deliveries }],
)

function cursorOf(text: string): DeliveryKey | undefined {
  const [, event = '', endpoint = ''] = DELIVERY_CURSOR.exec(text) ?? []
  const [eventId, endpointId] = [parseId('evt', event), parseId('we', endpoint)]
  return eventId && endpointId && { eventId, endpointId }
}
