import type { TenantId } from '@bonded/contract'
import type { Tenant } from '@bonded/core/domain/tenant'
import { listTenants } from '@bonded/core/operations/admin/tenants'
import type { Service } from '@bonded/core/operations/service'

/** The names of the tenants that a page shows, by their ids. Those that are removed have none. */
export function namesOf(
  { store }: Service,
  ids: readonly TenantId[],
): Promise<ReadonlyMap<TenantId, string>> {
  return store.read(function* ({ tenants }) {
    const names = new Map<TenantId, string>()
    for (const id of new Set(ids)) {
      const found = yield* tenants.find(id)
      if (found !== undefined) names.set(id, found.name)
    }
    return names
  })
}

/** The tenants that have this id, or this in their name. */
export async function tenantsCalled(service: Service, text: string): Promise<readonly Tenant[]> {
  const wanted = text.toLocaleLowerCase('en')
  const isCalled = ({ name }: Tenant) => name.toLocaleLowerCase('en').includes(wanted)
  return (await listTenants(service)).filter((each) => each.id === text || isCalled(each))
}
