import { accept, type Result, reject } from '../../domain/rejection.ts'
import { inScope } from '../../domain/tenant.ts'
import type { PublishableKey } from '../../ports/tables/tenant-table.ts'

/** The intended use of a key. Absent members are not checked. */
export interface KeyUse {
  readonly tenantId: string | undefined
  readonly workflow: string | undefined
  readonly action: string | undefined
}

/**
 * Checks whether a publishable key covers a use, so that a page's developer learns why the session
 * reads as not found. It names no session, and lists nothing: it confirms one guess at a time.
 */
export function checkPublishableKey(
  { tenant, scope }: Pick<PublishableKey, 'tenant' | 'scope'>,
  { tenantId, workflow, action }: KeyUse,
): Result<void> {
  if (tenantId !== undefined && tenantId !== tenant.id)
    return reject('key_of_another_tenant', { param: 'tenant_id' })
  if (workflow === undefined) return accept(undefined)
  const known = tenant.workflows.find(({ name }) => name === workflow)
  if (known === undefined || !inScope(scope, workflow))
    return reject('workflow_not_enabled', { param: 'workflow' })
  if (action === undefined) return accept(undefined)
  return known.actions.includes(action) && inScope(scope, workflow, action)
    ? accept(undefined)
    : reject('action_not_enabled', { param: 'action' })
}
