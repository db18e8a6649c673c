import type { TenantId } from '@bonded/contract'
import { accept, reject, type Result } from '../../domain/rejection.ts'
import type { BackendCaller, PortalCaller } from '../service.ts'

/**
 * The tenant that a backend manages, or whose webhooks its portal shows. Webhooks and users belong
 * to all workflows, so a credential for some of them is rejected.
 */
export function managedTenant({ credential }: BackendCaller | PortalCaller): Result<TenantId> {
  return credential.scope === null
    ? accept(credential.tenant.id)
    : reject('unscoped_credential_required')
}
