import { credentialName } from '@bonded/core/operations/admin/apply-tenant'
import type { SomeLimits } from '@bonded/core/domain/limits'
import { isRevoked, type Tenant } from '@bonded/core/domain/tenant'
import type { KeyListing } from '@bonded/core/ports/tables/tenant-table'
import { isoTime } from '../program/output.ts'

/** A tenant for `--json`. */
export function describeTenant({
  id,
  name,
  environment,
  demo,
  origins,
  workflows,
  limits,
  logo,
  sessionEndpoint,
  retention,
  suspendedAt,
}: Tenant) {
  return {
    tenant_id: id,
    name,
    environment,
    demo,
    origins,
    workflows,
    limits: describeLimits(limits),
    logo: logo ?? null,
    session_endpoint: sessionEndpoint ?? null,
    retention: retention ?? null,
    suspended_at: isoTime(suspendedAt ?? null),
  }
}

/** Rate limits by name; null where the tenant has those of the service. */
export function describeLimits(limits: SomeLimits | undefined) {
  const own = Object.values(limits ?? {})
  if (own.length === 0) return null
  return Object.fromEntries(
    own.map(({ name, quota, burst }) => [name, { per_minute: quota, burst }]),
  )
}

/** A key for `--json`, without its secret. */
export function describeKey(listing: KeyListing) {
  const { kind, key, name, last4, scope, createdAt, revokedAt, expiresAt, lastUsedAt } = listing
  return {
    kind,
    key,
    name,
    last4,
    scope,
    created_at: isoTime(createdAt),
    expires_at: isoTime(expiresAt),
    last_used_at: isoTime(lastUsedAt),
    revoked_at: isoTime(expiresAt === null ? revokedAt : null),
  }
}

/** The addresses of the service, which an integrator needs. */
export function addressesOf(publicOrigin: string) {
  return { workerBaseUrl: publicOrigin, scriptUrl: `${publicOrigin}/v1/pulse.js` }
}

/**
 * The configuration that an operator hands to the integrator, in the names of the API description.
 * A credential is named, never shown: it is stored as a hash.
 *
 * @param now to leave out revoked keys
 */
export function integrationOf(
  { id, name, environment, origins, workflows, sessionEndpoint }: Tenant,
  { keys, publicOrigin, now }: { keys: readonly KeyListing[]; publicOrigin: string; now: number },
) {
  const newest = (kind: KeyListing['kind']) =>
    keys.findLast((key) => key.kind === kind && !isRevoked(key, now))
  const credential = newest('server')
  return {
    tenantId: id,
    name,
    environment,
    ...addressesOf(publicOrigin),
    sessionEndpoint: sessionEndpoint ?? null,
    publishableKey: newest('publishable')?.key ?? null,
    serverCredential: credential ? credentialName(credential) : null,
    allowedOrigins: origins,
    workflows: workflows.map(({ name: workflow, actions, passport = 'none' }) => ({
      name: workflow,
      actions,
      passport,
    })),
  }
}
