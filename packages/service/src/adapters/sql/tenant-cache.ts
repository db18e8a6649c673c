import type { TenantTable, Work } from '../../ports/store.ts'
import type { Kept } from './kept.ts'

/**
 * The tenant table with what it found kept in memory: every call asks who is calling, and the answer changes once
 * a month. All of it is dropped as soon as a tenant or a key is written.
 */
export function keptTenants(table: TenantTable, kept: Kept<string, unknown>): TenantTable {
  function* lookUp<T>(key: string, find: () => Work<T>): Work<T> {
    const known = kept.get(key)
    if (known !== undefined) return known as T
    const found = yield* find()
    // What is not there is not kept: junk credentials would push the real ones out.
    if (found !== undefined && found !== false) kept.set(key, found)
    return found
  }

  function dropping<T>(work: Work<T>): Work<T> {
    kept.clear()
    return work
  }

  return {
    ...table,
    find: (id) => lookUp(id, () => table.find(id)),
    findServerCredential: (keyId) => lookUp(keyId, () => table.findServerCredential(keyId)),
    findPublishableKey: (key) => lookUp(key, () => table.findPublishableKey(key)),
    knowsOrigin: (origin) => lookUp(origin, () => table.knowsOrigin(origin)),
    create: (tenant, now) => dropping(table.create(tenant, now)),
    setLimits: (id, limits) => dropping(table.setLimits(id, limits)),
    addServerCredential: (row) => dropping(table.addServerCredential(row)),
    addPublishableKey: (row) => dropping(table.addPublishableKey(row)),
    revoke: (key, at) => dropping(table.revoke(key, at)),
  }
}
