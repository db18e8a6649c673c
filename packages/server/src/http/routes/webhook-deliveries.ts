import { DELIVERY_CURSOR, ENDPOINTS, parseId, parseInstant } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import {
  inspectEvent,
  listDeliveries,
  recoverEndpoint,
  retryEvent,
} from '@bonded/core/operations/webhook-deliveries'
import { managedTenant } from '@bonded/core/operations/managed-tenant'
import type { DeliveryKey } from '@bonded/core/ports/tables/webhook-table'
import { presentDeliveries, presentEventLog } from '../response/present-webhook.ts'
import { serve } from '../serve.ts'

const PAGE = '50'

export const listWebhookDeliveriesRoute = serve(
  ENDPOINTS.listWebhookDeliveries,
  async ({ service, caller, query }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const { state, type, endpoint_id = '', before = '', limit = PAGE } = query
    const page = await listDeliveries(service, {
      tenantId: tenant.value,
      state,
      type,
      endpointId: parseId('we', endpoint_id),
      before: cursorOf(before),
      limit: Number(limit),
    })
    return accept(['deliveries', presentDeliveries(page)])
  },
)

export const readWebhookEventRoute = serve(
  ENDPOINTS.readWebhookEvent,
  async ({ service, caller, params }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const found = await inspectEvent(service, params.event_id, tenant.value)
    return found.ok ? accept(['log', presentEventLog(found.value)]) : found
  },
)

export const retryWebhookEventRoute = serve(
  ENDPOINTS.retryWebhookEvent,
  async ({ service, caller, params, body }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const endpointId = parseId('we', body.endpoint_id ?? '')
    const due = await retryEvent(service, params.event_id, { endpointId, by: tenant.value })
    return due.ok ? accept(['due', { deliveries: due.value }]) : due
  },
)

export const recoverWebhookEndpointRoute = serve(
  ENDPOINTS.recoverWebhookEndpoint,
  async ({ service, caller, params, body }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const since = parseInstant(body.since)
    if (since === undefined) return reject('invalid_member', { param: 'since' })
    const due = await recoverEndpoint(service, params.endpoint_id, { since, by: tenant.value })
    return due.ok ? accept(['due', { deliveries: due.value }]) : due
  },
)

function cursorOf(text: string): DeliveryKey | undefined {
  const [, event = '', endpoint = ''] = DELIVERY_CURSOR.exec(text) ?? []
  const [eventId, endpointId] = [parseId('evt', event), parseId('we', endpoint)]
  return eventId && endpointId && { eventId, endpointId }
}
