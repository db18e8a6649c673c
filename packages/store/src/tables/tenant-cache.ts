import type { Work } from '@bonded/core/ports/work'
import type { TenantTable } from '@bonded/core/ports/tables/tenant-table'
import type { GenerationCache } from '@bonded/core/collections/generation-cache'
import { cachedTable } from './cached-table.ts'
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

  function write(): void {
    for (const cache of [tenants, serverCredentials, publishableKeys, origins]) cache.clear()
  }

  return cachedTable<TenantTable>(table, {
    find: { read: (id) => lookUp(tenants, id, () => table.find(id)) },
    findServerCredential: {
      read: (keyId) => lookUp(serverCredentials, keyId, () => table.findServerCredential(keyId)),
    },
    findPublishableKey: {
      read: (key) => lookUp(publishableKeys, key, () => table.findPublishableKey(key)),
    },
    knowsOrigin: { read: (origin) => lookUp(origins, origin, () => table.knowsOrigin(origin)) },
    create: { write },
    update: { write },
    setNotifies: { write },
    setLogo: { write },
    setSuspended: { write },
    removeRows: { write },
    remove: { write },
    setLimits: { write },
    addServerCredential: { write },
    addPublishableKey: { write },
    revoke: { write },
    unrevoke: { write },
    findLogo: 'passed',
    list: 'passed',
    listKeys: 'passed',
    // No caller of the caches reads these columns.
    recordUse: 'passed',
    listExpiring: 'passed',
    findKey: 'passed',
  })
}
