import {
  isDisplayText,
  makeId,
  MAX_TITLE_LENGTH,
  type TenantId,
  type Workflow,
  type Secret,
} from '@bonded/contract'
import { requiresBrowser } from '../../domain/browser-proof.ts'
import { MAX_PAGE_SECONDS } from '../../domain/lifetimes.ts'
import { type SomeLimits, TENANT_LIMITS } from '../../domain/limits.ts'
import { isHighlyRestrictive, isListed, lookAlike } from '../../domain/lookalikes.ts'
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
    yield* tables.concerns({ tenantId: tenant.id, key: credential.row.keyId })
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
  reject(nameProblems(name))
}

/**
 * Rejects a tenant that breaks protocol 3: each origin must be one that only its own pages have.
 */
export function checkTenant(tenant: Owned): void {
  reject(tenantProblems(tenant))
}

function reject([first]: readonly TenantProblem[]): void {
  if (first !== undefined) throw new OperatorError(first.message, { code: 'invalid' })
}

type Owned = Pick<NewTenant, 'environment' | 'origins' | 'workflows' | 'demo'>

/** What is wrong with a tenant, and where: members and indexes. */
export interface TenantProblem {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** What is wrong with the name of a tenant. */
export function nameProblems(name: string): readonly TenantProblem[] {
  if (isDisplayText(name) && isListed(name) && Array.from(name).length <= MAX_NAME_LENGTH) return []
  const message = `The name must have 1 to ${MAX_NAME_LENGTH} visible characters, and none that is in no alphabet, or hides or reorders text`
  return [{ path: ['name'], message }]
}

/** Everything that is wrong with a tenant. */
export function tenantProblems(tenant: Owned): readonly TenantProblem[] {
  const { environment, origins, workflows, demo } = tenant
  const names = workflows.map(({ name }) => name)
  const found: (TenantProblem | undefined | false)[] = [
    demo &&
      environment !== 'sandbox' && {
        path: ['demo'],
        message: 'Only a sandbox tenant can be a demo tenant',
      },
    ...origins.map((origin, index) => {
      const message = checkOrigin(origin, { environment, demo })
      return message !== undefined && { path: ['origins', index], message }
    }),
    workflows.length === 0 && {
      path: ['workflows'],
      message: 'A tenant needs at least one workflow',
    },
    ...names.map(
      (name, index) =>
        names.indexOf(name) !== index && {
          path: ['workflows', index, 'name'],
          message: `The tenant would have two workflows named ${name}`,
        },
    ),
    ...workflows.flatMap((workflow, index) =>
      [...titleProblems(workflow), ...deliveryProblems(workflow)].map((message) => ({
        path: ['workflows', index],
        message,
      })),
    ),
  ]
  return found.filter((problem) => problem !== undefined && problem !== false)
}

/** Members that contradict how the requests of a workflow reach the phone. */
function deliveryProblems(workflow: Workflow): readonly string[] {
  const { delivery = 'page', session_ttl_seconds: ttl = 0 } = workflow
  const says = (problem: string) => `workflow ${workflow.name}: ${problem}`
  const onPage: (string | false)[] = [
    ttl > MAX_PAGE_SECONDS &&
      `session_ttl_seconds is at most ${MAX_PAGE_SECONDS} without delivery inbox`,
    workflow.webauthn === 'seasoned' && 'webauthn seasoned needs delivery inbox',
    workflow.requester === 'required' && 'requester required needs delivery inbox',
    workflow.quorum !== undefined && 'quorum needs delivery inbox',
  ]
  const inInbox: (string | false)[] = [
    requiresBrowser({ require: workflow.require ?? [] }) &&
      'a request in the inbox has no page that could prove the browser',
    workflow.subject === 'optional' && 'a request in the inbox names its user',
    workflow.challenge_ttl_seconds !== undefined &&
      'the nonces of an inbox have a period of their own: omit challenge_ttl_seconds',
  ]
  const problems = delivery === 'page' ? onPage : inInbox
  return problems.filter((problem) => problem !== false).map(says)
}

/** Titles that a phone could not show as they are, or that belong to no action. */
function titleProblems({ name, actions, title = {}, action_titles: titles = {} }: Workflow) {
  const problems = Object.keys(titles)
    .filter((action) => !actions.includes(action))
    .map(
      (other) =>
        `workflow ${name} has titles for ${JSON.stringify(other)}, which is none of its actions`,
    )
  for (const [language, text] of [title, ...Object.values(titles)].flatMap(Object.entries)) {
    const isPlain = isDisplayText(text) && isHighlyRestrictive(text)
    if (isPlain && Array.from(text).length <= MAX_TITLE_LENGTH) continue
    problems.push(
      `workflow ${name}: the title in ${language} must have 1 to ${MAX_TITLE_LENGTH} visible characters, no word that mixes scripts, and no character that hides or reorders text`,
    )
  }
  return problems
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
