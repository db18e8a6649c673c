import {
  credentialChecksum,
  makeId,
  type SessionId,
  type TenantId,
  type Timeline,
  type Workflow,
} from '@bonded/contract'
import { Secret } from '../../domain/secret.ts'
import { type Session, stateAt } from '../../domain/session.ts'
import { type SomeLimits, TENANT_LIMITS } from '../../domain/limits.ts'
import type { Scope, Tenant } from '../../domain/tenant.ts'
import type { KeyListing } from '../../ports/store.ts'
import type { Service } from '../service.ts'

/** Something an operator asked for that cannot be done. Its message is for the operator. */
export class OperatorError extends Error {
  readonly code = 'refused'
  override readonly name = 'OperatorError'
}

export interface NewTenant {
  readonly name: string
  readonly environment: Tenant['environment']
  readonly origins: readonly string[]
  readonly workflows: readonly Workflow[]
  readonly demo: boolean
  readonly limits?: SomeLimits
}

export interface TenantKeys {
  readonly tenant: Tenant
  readonly publishableKey: string
  readonly serverCredential: Secret
}

/** Creates a tenant with its first two keys. The credential is shown once and stored as a hash. */
export async function createTenant(service: Service, wanted: NewTenant): Promise<TenantKeys> {
  judgeTenant(wanted)
  judgeLimits(wanted.limits ?? {})
  const tenant: Tenant = { id: makeId('ten', service.random.id()), ...wanted }
  const credential = createCredential(service)
  const publishableKey = `pk_beta_${service.random.base62(22)}`
  const now = service.clock.now()
  await service.store.write(function* (tables) {
    yield* tables.tenants.create(tenant, now)
    yield* tables.tenants.addServerCredential({
      ...credential.row,
      tenantId: tenant.id,
      scope: null,
      now,
    })
    yield* tables.tenants.addPublishableKey({
      key: publishableKey,
      tenantId: tenant.id,
      scope: null,
      now,
    })
  })
  return { tenant, publishableKey, serverCredential: credential.secret }
}

/** Protocol 3: `localhost` only for a sandbox tenant marked demo; everything else is an exact https origin. */
function judgeTenant({ environment, origins, workflows, demo }: NewTenant): void {
  if (demo && environment !== 'sandbox')
    throw new OperatorError('only a sandbox tenant can be a demo')
  for (const origin of origins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      throw new OperatorError(`${origin} is not an origin: scheme, host and port, nothing behind`)
    const { protocol, hostname } = new URL(origin)
    const local = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
    if (local && !demo)
      throw new OperatorError(
        `${origin} is this machine: only a demo tenant of the sandbox may use it`,
      )
    if (!local && protocol !== 'https:') throw new OperatorError(`${origin} is not https`)
  }
  if (workflows.length === 0) throw new OperatorError('a tenant needs at least one workflow')
  const names = workflows.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) throw new OperatorError(`the workflow ${twice} is named twice`)
}

/** A new server credential: what is stored of it, and what is shown once. */
export function createCredential({ random, keys }: Service) {
  const keyId = random.base62(10)
  const bare = `sk_beta_${keyId}_${random.base62(43)}`
  const text = bare + credentialChecksum(bare)
  return {
    row: { keyId, hash: keys.digest(text), last4: text.slice(-4) },
    secret: new Secret(text),
  }
}

/** Issues one more key. */
export async function issueKey(
  service: Service,
  { tenantId, kind, scope }: { tenantId: TenantId; kind: 'server' | 'publishable'; scope: Scope },
): Promise<{ key: string; secret: Secret }> {
  const tenant = await findTenant(service, tenantId)
  for (const entry of scope ?? []) {
    const workflow = tenant.workflows.find(({ name }) => name === entry.workflow)
    if (workflow === undefined)
      throw new OperatorError(`the tenant has no workflow ${entry.workflow}`)
    const unknown = entry.actions?.find((action) => !workflow.actions.includes(action))
    if (unknown !== undefined)
      throw new OperatorError(`the workflow ${entry.workflow} has no action ${unknown}`)
  }
  const now = service.clock.now()
  if (kind === 'publishable') {
    const key = `pk_beta_${service.random.base62(22)}`
    await service.store.write((tables) =>
      tables.tenants.addPublishableKey({ key, tenantId, scope, now }),
    )
    return { key, secret: new Secret(key) }
  }
  const { row, secret } = createCredential(service)
  await service.store.write((tables) =>
    tables.tenants.addServerCredential({ ...row, tenantId, scope, now }),
  )
  return { key: row.keyId, secret }
}

/** Revokes a server credential (by key id) or a publishable key. It stops working at once. */
export async function revokeKey(service: Service, key: string): Promise<void> {
  const revoked = await service.store.write((tables) =>
    tables.tenants.revoke(key, service.clock.now()),
  )
  if (!revoked)
    throw new OperatorError(
      'there is no such key, or it is revoked already; bonded key list --tenant shows which there are',
    )
}

/** Gives a tenant limits of its own, in the place of those it had; none: the service's. They count from the next call on. */
export async function limitTenant(
  service: Service,
  id: TenantId,
  limits: SomeLimits,
): Promise<void> {
  judgeLimits(limits)
  if (!(await service.store.write((tables) => tables.tenants.setLimits(id, limits))))
    throw new OperatorError('there is no such tenant')
}

function judgeLimits(limits: SomeLimits): void {
  const other = Object.values(limits).find(({ name }) => !TENANT_LIMITS.includes(name))
  if (other !== undefined)
    throw new OperatorError(
      `${other.name} is no limit of a tenant: ${TENANT_LIMITS.join(', ')} are`,
    )
}

/** @throws {OperatorError} where there is none */
export async function findTenant(service: Service, id: TenantId): Promise<Tenant> {
  const tenant = await service.store.read((tables) => tables.tenants.find(id))
  if (tenant === undefined) throw new OperatorError('there is no such tenant')
  return tenant
}

export function listTenants(service: Service): Promise<readonly Tenant[]> {
  return service.store.read((tables) => tables.tenants.list())
}

export function listKeys(service: Service, tenantId: TenantId): Promise<readonly KeyListing[]> {
  return service.store.read((tables) => tables.tenants.listKeys(tenantId))
}

/** A session as an operator sees it: of any tenant, as long as it is kept. */
export async function inspectSession(
  service: Service,
  id: SessionId,
): Promise<{ session: Session; state: Session['state']; timeline: Timeline['entries'] }> {
  const now = service.clock.now()
  const found = await service.store.read(function* (tables) {
    const session = yield* tables.sessions.find(id)
    return (
      session && {
        session,
        state: stateAt(session, now),
        timeline: yield* tables.sessions.timeline(id),
      }
    )
  })
  if (found === undefined) throw new OperatorError('there is no such session')
  return found
}
