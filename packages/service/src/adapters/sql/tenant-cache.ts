import type { TenantTable, Work } from '../../ports/store.ts'
import type { GenerationCache } from '../cache/generation-cache.ts'
import type { RowCaches } from './row-cache.ts'

/**
 * The tenant table with what it found kept in memory: every call asks who is calling, and the answer changes once
 * a month. All of it is dropped as soon as a tenant or a key is written. Each kind of row is kept apart: what a
 * stranger sends as one kind must not find a row of another.
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
    kept: GenerationCache<string, Found>,
    key: string,
    find: () => Work<Found | Missing>,
  ): Work<Found | Missing> {
    const known = kept.get(key)
    if (known !== undefined) return known
    const found = yield* find()
    // What is not there is not kept: junk credentials would push the real ones out.
    if (found !== undefined && found !== false) kept.set(key, found as Found)
    return found
  }

  function dropping<T>(work: Work<T>): Work<T> {
    for (const kept of [tenants, serverCredentials, publishableKeys, origins]) kept.clear()
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
    setLimits: (id, limits) => dropping(table.setLimits(id, limits)),
    addServerCredential: (row) => dropping(table.addServerCredential(row)),
    addPublishableKey: (row) => dropping(table.addPublishableKey(row)),
    revoke: (key, at) => dropping(table.revoke(key, at)),
  }
}
