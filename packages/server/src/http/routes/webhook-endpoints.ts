import { ENDPOINTS } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import {
  createEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateEndpoint,
  testEndpoint,
  updateEndpoint,
} from '@bonded/core/operations/webhook/webhook-endpoints'
import { presentEndpoint, presentInPortal, presentWithSecret } from '../response/present-webhook.ts'
import { iso } from '@bonded/core/domain/iso'
import { PORTAL_TTL_MS } from '@bonded/core/domain/webhooks'
import { portalUrl } from '../pages/webhook-portal.ts'
import { manage } from './manage.ts'

export const listWebhookEndpointsRoute = manage(
  ENDPOINTS.listWebhookEndpoints,
  async ({ service, caller }, tenantId) => {
    const endpoints = await listEndpoints(service, tenantId)
    if (caller.kind !== 'portal') return accept({ endpoints: endpoints.map(presentEndpoint) })
    const found = await service.store.read((tables) => tables.tenants.find(tenantId))
    const shown = { tenant_name: found?.name ?? tenantId }
    return accept({ ...shown, endpoints: endpoints.map(presentInPortal) })
  },
  (list) => ['endpoints', list],
)

export const createWebhookEndpointRoute = manage(
  ENDPOINTS.createWebhookEndpoint,
  ({ service, body }, tenantId) => {
    const { url, events = null, scheme = 'v1', logged_characters: loggedCharacters } = body
    return createEndpoint(service, { tenantId, url, events, scheme, loggedCharacters }, tenantId)
  },
  (created) => ['created', presentWithSecret(created)],
)

export const updateWebhookEndpointRoute = manage(
  ENDPOINTS.updateWebhookEndpoint,
  ({ service, params, body }, by) => {
    const { logged_characters: loggedCharacters, ...rest } = body
    return updateEndpoint(service, params.endpoint_id, { ...rest, loggedCharacters, by })
  },
  (updated) => ['endpoint', presentEndpoint(updated)],
)

export const deleteWebhookEndpointRoute = manage(
  ENDPOINTS.deleteWebhookEndpoint,
  ({ service, params }, tenantId) => removeEndpoint(service, params.endpoint_id, tenantId),
  () => null,
)

export const rotateWebhookSecretRoute = manage(
  ENDPOINTS.rotateWebhookSecret,
  ({ service, params }, tenantId) => rotateEndpoint(service, params.endpoint_id, tenantId),
  (rotated) => ['rotated', presentWithSecret(rotated)],
)

export const testWebhookEndpointRoute = manage(
  ENDPOINTS.testWebhookEndpoint,
  ({ service, params }, tenantId) => testEndpoint(service, params.endpoint_id, tenantId),
  (eventId) => ['test', { event_id: eventId }],
)

export const openWebhookPortalRoute = manage(
  ENDPOINTS.openWebhookPortal,
  async ({ service: { clock, keys, settings }, caller }, tenantId) => {
    const expiresAt = clock.now() + PORTAL_TTL_MS
    const token = keys.portalToken({ keyId: caller.credential.keyId, expiresAt }).reveal()
    const url = portalUrl(settings.publicOrigin, tenantId, token)
    return accept({ url, expires_at: iso(expiresAt) })
  },
  (link) => ['link', link],
)
