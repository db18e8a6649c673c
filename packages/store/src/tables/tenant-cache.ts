import type { Work } from '@bonded/core/ports/work'
import type { TenantTable } from '@bonded/core/ports/tables/tenant-table'
import type { GenerationCache } from '@bonded/core/collections/generation-cache'
import type { RowCaches } from './row-cache.ts'

/**
 * Adds a cache to the tenant table, which every call reads and which rarely changes. Any write of a
 * tenant or key clears the cache. Each kind of row has a separate cache, so that a caller's value
 * of one kind cannot match a row of another.
 */
export function tenantCache(
  table: TenantTable,
  {
    tenants,
    serverCredentials,
    publishableKeys,
    origins,
  }: Pick<RowCaches, 'tenants' | 'serverCredentials' | 'publishableKeys' | 'origins'>,
): TenantTable {
  function* lookUp<Found, Missing>(
    cache: GenerationCache<string, Found>,
    key: string,
    find: () => Work<Found | Missing>,
  ): Work<Found | Missing> {
    const cached = cache.get(key)
    if (cached !== undefined) return cached
    const found = yield* find()
    // Missing rows are not cached, because invalid credentials would displace valid ones.
    if (found !== undefined && found !== false) cache.set(key, found as Found)
    return found
  }

  function dropping<T>(work: Work<T>): Work<T> {
    for (const cache of [tenants, serverCredentials, publishableKeys, origins]) cache.clear()
    return work
  }

  return {
    ...table,
    find: (id) => lookUp(tenants, id, () => table.find(id)),
    findServerCredential: (keyId) =>
      lookUp(serverCredentials, keyId, () => table.findServerCredential(keyId)),
    findPublishableKey: (key) => lookUp(publishableKeys, key, () => table.findPublishableKey(key)),
    knowsOrigin: (origin) => lookUp(origins, origin, () => table.knowsOrigin(origin)),
    create: (tenant, now) => dropping(table.create(tenant, now)),
    update: (before, after) => dropping(table.update(before, after)),
    setNotifies: (id, notifies) => dropping(table.setNotifies(id, notifies)),
    setLogo: (id, logo) => dropping(table.setLogo(id, logo)),
    setLimits: (id, limits) => dropping(table.setLimits(id, limits)),
    addServerCredential: (row) => dropping(table.addServerCredential(row)),
    addPublishableKey: (row) => dropping(table.addPublishableKey(row)),
    revoke: (key, at) => dropping(table.revoke(key, at)),
  }
}
