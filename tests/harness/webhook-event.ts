import {
  createEndpoint,
  listEndpoints,
  removeEndpoint,
  testEndpoint,
} from '../../packages/core/src/operations/admin/webhooks.ts'
import type { Harness, TenantKeys } from './harness.ts'

/** An endpoint of a tenant, the only one that it has, and an event that is sent to it. */
export async function webhookEvent({ service, shop }: Harness, { tenant }: TenantKeys = shop) {
  for (const { id } of await listEndpoints(service, tenant.id)) await removeEndpoint(service, id)
  const { endpoint } = await createEndpoint(service, {
    tenantId: tenant.id,
    url: 'https://hooks.example/bonded',
    events: null,
    scheme: 'v1',
  })
  return { endpoint_id: endpoint.id, event_id: await testEndpoint(service, endpoint.id) }
}
