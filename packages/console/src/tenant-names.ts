import type { TenantId } from '@bonded/contract'
import { findTenant } from '@bonded/core/operations/admin/tenants'
import type { Service } from '@bonded/core/operations/service'

/** The names of the tenants that a page shows, by their ids. */
export async function namesOf(
  service: Service,
  ids: readonly TenantId[],
): Promise<ReadonlyMap<TenantId, string>> {
  const found = await Promise.all([...new Set(ids)].map((id) => findTenant(service, id)))
  return new Map(found.map(({ id, name }) => [id, name]))
}
