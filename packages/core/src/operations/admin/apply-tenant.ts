import { canonicalJson, makeId } from '@bonded/contract'
import { ratesOf, type SomeLimits } from '../../domain/limits.ts'
import type { SomeRetention } from '../../domain/retention.ts'
import { isRevoked, type Tenant } from '../../domain/tenant.ts'
import type { Tables } from '../../ports/store.ts'
import type { KeyListing } from '../../ports/tables/tenant-table.ts'
import type { Work } from '../../ports/work.ts'
import type { Service } from '../service.ts'
import { createCredential } from './credential.ts'
import { OperatorError } from './operator-error.ts'
import { setSuspended } from './suspend-tenant.ts'
import { similarTenant } from './tenants.ts'

/** A tenant as a document describes it. A member that is undefined stays as it is. */
export interface WantedTenant extends Pick<Tenant, 'name' | 'environment' | 'workflows'> {
  readonly id?: Tenant['id'] | undefined
  readonly demo?: boolean | undefined
  readonly origins?: Tenant['origins'] | undefined
  /** Null removes it. */
  readonly sessionEndpoint?: string | null | undefined
  readonly limits?: SomeLimits | undefined
  readonly retention?: SomeRetention | undefined
  readonly suspended?: boolean | undefined
  readonly publishableKey?: string | undefined
  /** The name of its server credential. */
  readonly serverCredential?: string | undefined
  readonly allowSimilarName: boolean
}

/** A difference between the document and what is stored. Null in `from`: the tenant is new. */
export interface TenantDifference {
  readonly member: string
  readonly from: unknown
  readonly to: unknown
}

/** What applying a tenant changes, or has changed. */
export interface AppliedTenant {
  readonly tenant: Tenant
  readonly isNew: boolean
  readonly differences: readonly TenantDifference[]
  /** The secret of a new server credential, which is shown once. */
  readonly serverCredential: string | undefined
}

/** Returns what applying a tenant would change. @throws {OperatorError} where it cannot be */
export function planTenant(service: Service, wanted: WantedTenant): Promise<AppliedTenant> {
  return service.store.read((tables) => compare(service, tables, wanted))
}

/**
 * Makes a tenant as a document describes it, in one transaction. A tenant without an id is the one
 * of the same name. Applied again, it changes nothing.
 *
 * @throws {OperatorError} where it cannot be
 */
export function applyTenant(service: Service, wanted: WantedTenant): Promise<AppliedTenant> {
  return service.store.write(function* (tables) {
    const plan = yield* compare(service, tables, wanted)
    if (plan.differences.length === 0) return plan
    const { tenant, isNew } = plan
    yield* tables.concerns({ tenantId: tenant.id })
    const now = service.clock.now()
    if (isNew) yield* tables.tenants.create(tenant, now)
    else {
      const before = yield* tables.tenants.find(tenant.id)
      if (before === undefined || !(yield* tables.tenants.update(before, tenant)))
        throw new OperatorError('The tenant was changed by another command: apply again', {
          code: 'conflict',
        })
      yield* tables.tenants.setLimits(tenant.id, tenant.limits ?? {})
    }
    if (wanted.suspended !== undefined)
      yield* setSuspended(tables, tenant.id, wanted.suspended ? now : null)
    const serverCredential = yield* addKeys(service, tables, { plan, wanted, now })
    return { ...plan, serverCredential }
  })
}

function* compare(service: Service, tables: Tables, wanted: WantedTenant): Work<AppliedTenant> {
  const all = yield* tables.tenants.list()
  const before = all.find(({ id, name }) =>
    wanted.id === undefined ? name === wanted.name : id === wanted.id,
  )
  const tenant = wantedTenant(service, wanted, before)
  if (before !== undefined)
    for (const member of ['environment', 'demo'] as const)
      if (before[member] !== tenant[member])
        throw invalid(`${member} of ${before.id} is ${before[member]}, and cannot be changed`)
  const { allowSimilarName } = wanted
  similarTenant(tenant, { among: before?.name === tenant.name ? [] : all, allowSimilarName })
  const keys = before ? yield* tables.tenants.listKeys(before.id) : []
  const differences = [
    ...settingsDiffer(before, tenant),
    ...(yield* keysDiffer(service, tables, { wanted, keys, isNew: before === undefined })),
  ]
  const isSuspended = before?.suspendedAt !== undefined
  if (wanted.suspended !== undefined && wanted.suspended !== isSuspended)
    differences.push({ member: 'suspended', from: isSuspended, to: wanted.suspended })
  return { tenant, isNew: before === undefined, differences, serverCredential: undefined }
}

function wantedTenant(service: Service, wanted: WantedTenant, before: Tenant | undefined): Tenant {
  const { id, name, environment, workflows, origins, demo, limits, sessionEndpoint, retention } =
    wanted
  return {
    ...before,
    id: before?.id ?? id ?? makeId('ten', service.random.id()),
    name,
    environment,
    workflows,
    demo: demo ?? before?.demo ?? false,
    origins: origins ?? before?.origins ?? [],
    limits: limits ?? before?.limits ?? {},
    retention: retention ?? before?.retention ?? {},
    sessionEndpoint:
      sessionEndpoint === undefined ? before?.sessionEndpoint : (sessionEndpoint ?? undefined),
  }
}

const SETTINGS = ['name', 'environment', 'demo', 'origins', 'sessionEndpoint'] as const

function settingsDiffer(before: Tenant | undefined, after: Tenant): TenantDifference[] {
  const of = (tenant: Tenant | undefined) => ({
    ...Object.fromEntries(SETTINGS.map((member) => [member, tenant?.[member] ?? null])),
    limits: ratesOf(tenant?.limits ?? {}),
    retention: tenant?.retention ?? {},
    // As the description has it: a workflow without the member accepts no passport.
    workflows: tenant?.workflows.map((each) => ({ ...each, passport: each.passport ?? 'none' })),
  })
  const [from, to] = [of(before) as Record<string, unknown>, of(after) as Record<string, unknown>]
  return Object.keys(to)
    .filter((member) => canonicalJson(from[member] ?? null) !== canonicalJson(to[member] ?? null))
    .map((member) => ({ member, from: before ? from[member] : null, to: to[member] }))
}

interface KeysWanted {
  readonly wanted: WantedTenant
  readonly keys: readonly KeyListing[]
  readonly isNew: boolean
}

/** The name of a server credential, or its public part. */
export function credentialName({ name, key }: Pick<KeyListing, 'name' | 'key'>): string {
  return name ?? `sk_beta_${key}_…`
}

function* keysDiffer(
  { clock }: Service,
  tables: Tables,
  { wanted, keys, isNew }: KeysWanted,
): Work<readonly TenantDifference[]> {
  const valid = keys.filter((key) => !isRevoked(key, clock.now()))
  const { publishableKey, serverCredential } = wanted
  const differences: TenantDifference[] = []
  if (publishableKey !== undefined && !valid.some(({ key }) => key === publishableKey)) {
    if ((yield* tables.tenants.findKey(publishableKey)) !== undefined)
      throw invalid(`publishableKey ${publishableKey} is revoked, or of another tenant`)
    differences.push({ member: 'publishableKey', from: null, to: publishableKey })
  } else if (isNew) differences.push({ member: 'publishableKey', from: null, to: 'a new one' })
  // One without a name is written by the public part of its own, which no other one has.
  const isKnown =
    serverCredential === undefined ||
    serverCredential.endsWith('…') ||
    valid.some((key) => key.kind === 'server' && key.name === serverCredential)
  if (isNew || !isKnown) {
    const to = serverCredential ?? 'a new one'
    differences.push({ member: 'serverCredential', from: null, to })
  }
  return differences
}

/** @returns the secret of a new server credential */
function* addKeys(
  service: Service,
  tables: Tables,
  of: { readonly plan: AppliedTenant; readonly wanted: WantedTenant; readonly now: number },
): Work<string | undefined> {
  const { plan, wanted, now } = of
  const has = (member: string) => plan.differences.some((each) => each.member === member)
  const common = { tenantId: plan.tenant.id, scope: null, now }
  if (has('publishableKey'))
    yield* tables.tenants.addPublishableKey({
      ...common,
      key: wanted.publishableKey ?? `pk_beta_${service.random.base62(22)}`,
    })
  if (!has('serverCredential')) return undefined
  const { row, secret } = createCredential(service)
  const name = wanted.serverCredential?.endsWith('…') ? undefined : wanted.serverCredential
  yield* tables.tenants.addServerCredential({ ...common, ...row, name })
  return secret.reveal()
}

function invalid(message: string): OperatorError {
  return new OperatorError(message, { code: 'invalid' })
}
