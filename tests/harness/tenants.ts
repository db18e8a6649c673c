import { credentialChecksum, makeId, type Workflow } from '@bonded/contract'
import { systemRandom } from '../../packages/server/src/adapters/keys/random.ts'
import type { RunningService } from '../../packages/server/src/compose.ts'
import type { Scope, Tenant } from '../../packages/core/src/domain/tenant.ts'

export const SHOP_ORIGIN = 'https://shop.example'

export const WORKFLOWS: readonly Workflow[] = [
  { name: 'credit_application', actions: ['submit_application'] },
  { name: 'wire_transfer', actions: ['approve_wire', 'change_limit'] },
  { name: 'strict', actions: ['act'], require: ['local_auth', 'sensor_continuity'] },
  { name: 'named', actions: ['act'], subject: 'required' },
  { name: 'agent', actions: ['act'], delivery: 'inbox' },
]

/** A tenant and its credentials. */
export interface TenantKeys {
  readonly tenant: Tenant
  readonly server: string
  readonly publishable: string
}

/** Creates a tenant with credentials of unlimited scope. */
export async function addTenant(
  { service }: RunningService,
  {
    workflows = WORKFLOWS,
    environment = 'sandbox',
    origins = [SHOP_ORIGIN],
    name = 'Shop',
    limits = {},
    demo = false,
    retention,
  }: Partial<Tenant>,
): Promise<TenantKeys> {
  const tenant: Tenant = {
    id: makeId('ten', service.random.id()),
    name,
    environment,
    demo,
    origins,
    workflows,
    limits,
    retention,
  }
  await service.store.write((tables) => tables.tenants.create(tenant, service.clock.now()))
  return addKeys({ service } as RunningService, tenant, null)
}

/** Adds a server credential and a publishable key to a tenant. */
export async function addKeys(
  { service }: RunningService,
  tenant: Tenant,
  scope: Scope,
): Promise<TenantKeys> {
  const random = systemRandom()
  const keyId = random.base62(10)
  const bare = `sk_beta_${keyId}_${random.base62(43)}`
  const server = bare + credentialChecksum(bare)
  const publishable = `pk_beta_${random.base62(22)}`
  const now = service.clock.now()
  await service.store.write(function* (tables) {
    yield* tables.tenants.addServerCredential({
      keyId,
      tenantId: tenant.id,
      hash: service.keys.digest(server),
      last4: server.slice(-4),
      scope,
      now,
    })
    yield* tables.tenants.addPublishableKey({ key: publishable, tenantId: tenant.id, scope, now })
  })
  return { tenant, server, publishable }
}
