import { ENDPOINTS } from '@bonded/contract'
import { accept } from '@bonded/core/domain/rejection'
import { managedTenant } from '@bonded/core/operations/managed-tenant'
import {
  createEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateEndpoint,
  testEndpoint,
  updateEndpoint,
} from '@bonded/core/operations/webhook-endpoints'
import { presentEndpoint, presentInPortal, presentWithSecret } from '../response/present-webhook.ts'
import { iso } from '@bonded/core/domain/iso'
import { PORTAL_TTL_MS } from '@bonded/core/domain/webhooks'
import { portalUrl } from '../pages/webhook-portal.ts'
import { serve } from '../serve.ts'

export const listWebhookEndpointsRoute = serve(
  ENDPOINTS.listWebhookEndpoints,
  async ({ service, caller }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const endpoints = await listEndpoints(service, tenant.value)
    if (caller.kind !== 'portal')
      return accept(['endpoints', { endpoints: endpoints.map(presentEndpoint) }])
    const found = await service.store.read((tables) => tables.tenants.find(tenant.value))
    const shown = { tenant_name: found?.name ?? tenant.value }
    return accept(['endpoints', { ...shown, endpoints: endpoints.map(presentInPortal) }])
  },
)

export const createWebhookEndpointRoute = serve(
  ENDPOINTS.createWebhookEndpoint,
  async ({ service, caller, body }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const { url, events = null, scheme = 'v1', logged_characters: loggedCharacters } = body
    const given = { tenantId: tenant.value, url, events, scheme, loggedCharacters }
    const created = await createEndpoint(service, given, tenant.value)
    return created.ok ? accept(['created', presentWithSecret(created.value)]) : created
  },
)

export const updateWebhookEndpointRoute = serve(
  ENDPOINTS.updateWebhookEndpoint,
  async ({ service, caller, params, body }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const { logged_characters: loggedCharacters, ...rest } = body
    const change = { ...rest, loggedCharacters, by: tenant.value }
    const updated = await updateEndpoint(service, params.endpoint_id, change)
    return updated.ok ? accept(['endpoint', presentEndpoint(updated.value)]) : updated
  },
)

export const deleteWebhookEndpointRoute = serve(
  ENDPOINTS.deleteWebhookEndpoint,
  async ({ service, caller, params }) => {
    const tenant = managedTenant(caller)
    return tenant.ok ? removeEndpoint(service, params.endpoint_id, tenant.value) : tenant
  },
)

export const rotateWebhookSecretRoute = serve(
  ENDPOINTS.rotateWebhookSecret,
  async ({ service, caller, params }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const rotated = await rotateEndpoint(service, params.endpoint_id, tenant.value)
    return rotated.ok ? accept(['rotated', presentWithSecret(rotated.value)]) : rotated
  },
)

export const testWebhookEndpointRoute = serve(
  ENDPOINTS.testWebhookEndpoint,
  async ({ service, caller, params }) => {
    const tenant = managedTenant(caller)
    if (!tenant.ok) return tenant
    const sent = await testEndpoint(service, params.endpoint_id, tenant.value)
    return sent.ok ? accept(['test', { event_id: sent.value }]) : sent
  },
)

export const openWebhookPortalRoute = serve(ENDPOINTS.openWebhookPortal, ({ service, caller }) => {
  const tenant = managedTenant(caller)
  if (!tenant.ok) return tenant
  const { clock, keys, settings } = service
  const expiresAt = clock.now() + PORTAL_TTL_MS
  const token = keys.portalToken({ keyId: caller.credential.keyId, expiresAt }).reveal()
  const url = portalUrl(settings.publicOrigin, tenant.value, token)
  return accept(['link', { url, expires_at: iso(expiresAt) }])
})
