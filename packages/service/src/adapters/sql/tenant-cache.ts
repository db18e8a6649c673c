import type { TenantTable, Work } from '../../ports/store.ts'

/** A bound; far more keys than one node's tenants hold. */
const MAX_KEPT = 10_000

/**
 * The tenant table with what it found kept in memory: every call asks who is calling, and the answer changes once
 * a month. What is kept is dropped as soon as a tenant or a key is written here, or anything by another process,
 * so a revoked key stops working at once. Only readings keep: a unit that writes may yet be undone.
 *
 * @param foreignVersion changes whenever another connection has committed
 */
export function keptTenants(table: TenantTable, foreignVersion: () => number): { readonly reading: TenantTable; readonly writing: TenantTable } {
  const kept = new Map<string, unknown>()
  let version = Number.NaN

  function* lookUp<T>(key: string, find: () => Work<T>): Work<T> {
    const current = foreignVersion()
    if (current !== version || kept.size >= MAX_KEPT) kept.clear()
    version = current
    if (kept.has(key)) return kept.get(key) as T
    const found = yield* find()
    // What is not there is not kept: junk credentials would push the real ones out.
    if (found !== undefined && found !== false) kept.set(key, found)
    return found
  }

  function* dropping<T>(work: Work<T>): Work<T> {
    kept.clear()
    try {
      return yield* work
    } finally {
      kept.clear()
    }
  }

  return {
    reading: {
      ...table,
      find: (id) => lookUp(`tenant ${id}`, () => table.find(id)),
      findServerCredential: (keyId) => lookUp(`server ${keyId}`, () => table.findServerCredential(keyId)),
      findPublishableKey: (key) => lookUp(`publishable ${key}`, () => table.findPublishableKey(key)),
      knowsOrigin: (origin) => lookUp(`origin ${origin}`, () => table.knowsOrigin(origin)),
    },
    writing: {
      ...table,
      create: (tenant, now) => dropping(table.create(tenant, now)),
      addServerCredential: (row) => dropping(table.addServerCredential(row)),
      addPublishableKey: (row) => dropping(table.addPublishableKey(row)),
      revoke: (key, now) => dropping(table.revoke(key, now)),
    },
  }
}
