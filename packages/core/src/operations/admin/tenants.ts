import {
  isDisplayText,
  makeId,
  MAX_TITLE_LENGTH,
  type TenantId,
  type Workflow,
  type Secret,
} from '@bonded/contract'
import { type SomeLimits, TENANT_LIMITS } from '../../domain/limits.ts'
import { isHighlyRestrictive, lookAlike } from '../../domain/lookalikes.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { Service } from '../service.ts'
import { createCredential } from './credential.ts'
import { checkOrigin, checkSessionEndpoint } from './check-origin.ts'
import { OperatorError, tenantNotFound } from './operator-error.ts'

export interface NewTenant {
  readonly name: string
  readonly environment: Tenant['environment']
  readonly origins: readonly string[]
  readonly workflows: readonly Workflow[]
  readonly demo: boolean
  readonly limits?: SomeLimits
  readonly sessionEndpoint?: string | undefined
  /** Allows a name that looks like that of another tenant. */
  readonly allowSimilarName?: boolean
}

export interface TenantKeys {
  readonly tenant: Tenant
  readonly publishableKey: string
  readonly serverCredential: Secret
  /** A tenant whose name looks like the new one. */
  readonly similarTenantId: TenantId | null
}

/**
 * Creates a tenant with its first two keys. The server credential is shown once and stored as a
 * hash.
 *
 * @throws {OperatorError} where the tenant is not valid
 */
export async function createTenant(service: Service, wanted: NewTenant): Promise<TenantKeys> {
  checkName(wanted.name)
  checkTenant(wanted)
  if (wanted.sessionEndpoint !== undefined)
    checkSessionEndpoint(wanted.sessionEndpoint, wanted, service.settings)
  checkLimits(wanted.limits ?? {})
  const { allowSimilarName = false, ...members } = wanted
  const tenant: Tenant = { id: makeId('ten', service.random.id()), ...members }
  const credential = createCredential(service)
  const publishableKey = `pk_beta_${service.random.base62(22)}`
  const now = service.clock.now()
  const similarTenantId = await service.store.write(function* (tables) {
    const similar = similarTenant(tenant, { among: yield* tables.tenants.list(), allowSimilarName })
    yield* tables.tenants.create(tenant, now)
    tables.concerns?.({ tenantId: tenant.id, key: credential.row.keyId })
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
    return similar
  })
  return { tenant, publishableKey, serverCredential: credential.secret, similarTenantId }
}

/**
 * Finds a tenant whose name looks like that of the given one: it is all that a user knows about who
 * asks.
 *
 * @throws {OperatorError} where there is one, unless the operator allows it
 */
export function similarTenant(
  { id, name }: Pick<Tenant, 'id' | 'name'>,
  { among, allowSimilarName }: { among: readonly Tenant[]; allowSimilarName: boolean },
): TenantId | null {
  const other = among.find((tenant) => tenant.id !== id && lookAlike(tenant.name, name))
  if (other === undefined) return null
  if (allowSimilarName) return other.id
  throw new OperatorError(
    `The name looks like that of the tenant ${other.id}, so users could not tell the two apart. Choose another name, or add --allow-similar-name`,
    { code: 'conflict' },
  )
}

/** Code points. A phone shows the name in one line, above what the user approves. */
const MAX_NAME_LENGTH = 64

function checkName(name: string): void {
  if (!isDisplayText(name) || Array.from(name).length > MAX_NAME_LENGTH)
    throw new OperatorError(
      `The name must have 1 to ${MAX_NAME_LENGTH} visible characters, and none that hides or reorders text`,
      { code: 'invalid' },
    )
}

/**
 * Rejects a tenant that breaks protocol 3: each origin must be one that only its own pages have.
 */
export function checkTenant({ environment, origins, workflows, demo }: NewTenant): void {
  if (demo && environment !== 'sandbox')
    throw new OperatorError('Only a sandbox tenant can be a demo tenant', { code: 'invalid' })
  for (const origin of origins) {
    const problem = checkOrigin(origin, { environment, demo })
    if (problem !== undefined) throw new OperatorError(problem, { code: 'invalid' })
  }
  if (workflows.length === 0)
    throw new OperatorError('A tenant needs at least one workflow', { code: 'invalid' })
  const names = workflows.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw new OperatorError(`The tenant would have two workflows named ${twice}`, {
      code: 'invalid',
    })
  for (const workflow of workflows) checkTitles(workflow)
}

/** Rejects a title that a phone could not show as it is, or that belongs to no action. */
function checkTitles({ name, actions, title = {}, action_titles: titles = {} }: Workflow): void {
  const other = Object.keys(titles).find((action) => !actions.includes(action))
  if (other !== undefined)
    throw new OperatorError(
      `workflow ${name} has titles for ${JSON.stringify(other)}, which is none of its actions`,
      { code: 'invalid' },
    )
  for (const [language, text] of [title, ...Object.values(titles)].flatMap(Object.entries)) {
    const isPlain = isDisplayText(text) && isHighlyRestrictive(text)
    if (isPlain && Array.from(text).length <= MAX_TITLE_LENGTH) continue
    throw new OperatorError(
      `workflow ${name}: the title in ${language} must have 1 to ${MAX_TITLE_LENGTH} visible characters, no word that mixes scripts, and no character that hides or reorders text`,
      { code: 'invalid' },
    )
  }
}

/** Replaces the rate limits of a tenant. Limits that are not named have the service defaults. */
export async function limitTenant(
  service: Service,
  id: TenantId,
  limits: SomeLimits,
): Promise<void> {
  checkLimits(limits)
  await service.store.write(function* (tables) {
    if (!(yield* tables.tenants.setLimits(id, limits))) throw tenantNotFound(id)
  })
}

function checkLimits(limits: SomeLimits): void {
  const other = Object.values(limits).find(({ name }) => !TENANT_LIMITS.includes(name))
  if (other !== undefined)
    throw new OperatorError(
      `${other.name} cannot be set for a tenant. Use ${TENANT_LIMITS.join(', ')}`,
      { code: 'invalid' },
    )
}

/** @throws {OperatorError} where the tenant does not exist */
export async function findTenant(service: Service, id: TenantId): Promise<Tenant> {
  const tenant = await service.store.read((tables) => tables.tenants.find(id))
  if (tenant === undefined) throw tenantNotFound(id)
  return tenant
}

export function listTenants(service: Service): Promise<readonly Tenant[]> {
  return service.store.read((tables) => tables.tenants.list())
}
