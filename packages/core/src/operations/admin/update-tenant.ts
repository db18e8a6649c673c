import type { TenantId, Workflow } from '@bonded/contract'
import { retentionProblem, type SomeRetention } from '../../domain/retention.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { TenantSettings } from '../../ports/tables/tenant-table.ts'
import type { Service } from '../service.ts'
import { OperatorError, tenantNotFound } from './operator-error.ts'
import { checkSessionEndpoint } from './check-origin.ts'
import { checkTenant, similarTenant } from './tenants.ts'

/** What to change. Removals come first, so that one call can replace a workflow. */
export interface TenantChange {
  readonly name?: string | undefined
  /** Allows a name that looks like that of another tenant. */
  readonly allowSimilarName?: boolean
  readonly addOrigins: readonly string[]
  readonly removeOrigins: readonly string[]
  readonly addWorkflows: readonly Workflow[]
  /** Names of workflows. */
  readonly removeWorkflows: readonly string[]
  /** Null removes it. */
  readonly sessionEndpoint?: string | null | undefined
  /** Replaces the periods that it has; undefined restores that of the service. */
  readonly retention?: SomeRetention | undefined
}

export interface UpdatedTenant {
  readonly tenant: Tenant
  /** A tenant whose name looks like the new one. */
  readonly similarTenantId: TenantId | null
}

/**
 * Another process may change the tenant between read and write. After this many attempts the call
 * fails.
 */
const MAX_ATTEMPTS = 5

/**
 * Changes the name, origins, workflows, session endpoint, and retention of a tenant. A running
 * service applies it within a second. Sessions that exist keep the policy of their workflow.
 *
 * @throws {OperatorError} where the tenant does not exist or the result is not a valid tenant
 */
export async function updateTenant(
  service: Service,
  id: TenantId,
  change: TenantChange,
): Promise<UpdatedTenant> {
  return service.store.write(function* (tables) {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const before = yield* tables.tenants.find(id)
      if (before === undefined) throw tenantNotFound(id)
      const after = { ...before, ...changed(before, change) }
      // What the tenant already has was valid when it was added, and must stay removable.
      checkTenant({ ...after, origins: change.addOrigins })
      if (typeof change.sessionEndpoint === 'string')
        checkSessionEndpoint(change.sessionEndpoint, after, service.settings)
      if (change.retention !== undefined) checkRetention(service, change.retention)
      const { allowSimilarName = false } = change
      const among = after.name === before.name ? [] : yield* tables.tenants.list()
      const similarTenantId = similarTenant(after, { among, allowSimilarName })
      if (yield* tables.tenants.update(before, after)) return { tenant: after, similarTenantId }
    }
    throw new OperatorError(
      'The tenant was changed by another command at the same time: try again',
      {
        code: 'conflict',
      },
    )
  })
}

function checkRetention({ settings }: Service, retention: SomeRetention): void {
  for (const [kind, days] of Object.entries(retention)) {
    const problem = retentionProblem(kind, days, settings.retentionBounds)
    if (problem !== undefined)
      throw new OperatorError(`${kind}=${days} ${problem}`, { code: 'invalid' })
  }
}

function changed(before: Tenant, change: TenantChange): TenantSettings {
  const { removeOrigins, addOrigins, removeWorkflows, addWorkflows } = change
  const unknownOrigin = removeOrigins.find((origin) => !before.origins.includes(origin))
  if (unknownOrigin !== undefined)
    throw new OperatorError(`The tenant has no origin ${unknownOrigin}`, { code: 'not_found' })
  const names = before.workflows.map(({ name }) => name)
  const unknownWorkflow = removeWorkflows.find((name) => !names.includes(name))
  if (unknownWorkflow !== undefined)
    throw new OperatorError(`The tenant has no workflow ${unknownWorkflow}`, { code: 'not_found' })
  const origins = before.origins.filter((origin) => !removeOrigins.includes(origin))
  const { sessionEndpoint = before.sessionEndpoint } = change
  return {
    sessionEndpoint: sessionEndpoint ?? undefined,
    retention: { ...before.retention, ...change.retention },
    name: change.name ?? before.name,
    // Adding an origin that is there changes nothing, so that a script can run twice.
    origins: [...new Set([...origins, ...addOrigins])],
    workflows: [
      ...before.workflows.filter(({ name }) => !removeWorkflows.includes(name)),
      ...addWorkflows,
    ],
  }
}
