import { Secret, type TenantId } from '@bonded/contract'
import type { Instant } from '../../domain/session.ts'
import type { Scope } from '../../domain/tenant.ts'
import type { KeyListing } from '../../ports/tables/tenant-table.ts'
import type { Service } from '../service.ts'
import { createCredential } from './credential.ts'
import { keyNotFound, OperatorError } from './operator-error.ts'
import { findTenant } from './tenants.ts'

/** A key to issue. */
export interface NewKey {
  readonly tenantId: TenantId
  readonly kind: KeyListing['kind']
  readonly scope: Scope
  /** What the operator calls it. */
  readonly name?: string | undefined
  /** How long a server credential works; without it, until it is revoked. */
  readonly lifetimeMs?: number | undefined
}

/**
 * Issues one more key for a tenant.
 *
 * @throws {OperatorError} where the tenant does not exist, or has no such workflow or action
 */
export async function issueKey(
  service: Service,
  { tenantId, kind, scope, name, lifetimeMs }: NewKey,
): Promise<{ key: string; secret: Secret; expiresAt: Instant | null }> {
  const tenant = await findTenant(service, tenantId)
  for (const entry of scope ?? []) {
    const workflow = tenant.workflows.find((candidate) => candidate.name === entry.workflow)
    if (workflow === undefined)
      throw new OperatorError(`The tenant has no workflow ${entry.workflow}`, { code: 'not_found' })
    const unknown = entry.actions?.find((action) => !workflow.actions.includes(action))
    if (unknown !== undefined)
      throw new OperatorError(`The workflow ${entry.workflow} has no action ${unknown}`, {
        code: 'not_found',
      })
  }
  const now = service.clock.now()
  if (kind === 'publishable') {
    const key = `pk_beta_${service.random.base62(22)}`
    await service.store.write(function* (tables) {
      yield* tables.concerns({ tenantId, key })
      yield* tables.tenants.addPublishableKey({ key, tenantId, name, scope, now })
    })
    return { key, secret: new Secret(key), expiresAt: null }
  }
  const { row, secret } = createCredential(service)
  const expiresAt = lifetimeMs === undefined ? null : now + lifetimeMs
  await service.store.write(function* (tables) {
    yield* tables.concerns({ tenantId, key: row.keyId })
    yield* tables.tenants.addServerCredential({ ...row, tenantId, name, scope, now, expiresAt })
  })
  return { key: row.keyId, secret, expiresAt }
}

/**
 * Revokes a server credential (by key id) or a publishable key. It stops working at once.
 *
 * @throws {OperatorError} where the key does not exist or is revoked already
 */
export async function revokeKey(service: Service, key: string): Promise<void> {
  const now = service.clock.now()
  await service.store.write(function* (tables) {
    if (yield* tables.tenants.revoke(key, now)) return
    if ((yield* tables.tenants.findKey(key)) === undefined) throw keyNotFound()
    throw new OperatorError('The key is already revoked', { code: 'conflict' })
  })
}

/** The keys of a tenant, server credentials first, each kind oldest first. */
export function listKeys(service: Service, tenantId: TenantId): Promise<readonly KeyListing[]> {
  return service.store.read((tables) => tables.tenants.listKeys(tenantId))
}
