import type { TenantId } from '@bonded/contract'
import { lookalikeKeys } from '../domain/lookalikes.ts'
import type { Instant } from '../domain/session.ts'
import type { Tenant } from '../domain/tenant.ts'
import type { Store } from '../ports/store.ts'
import type { Service } from './service.ts'

/** How long the names are used, so that creates read all tenants at most once a minute. */
export const TENANT_NAMES_TTL_MS = 60_000

/** The tenants by the keys of their names. */
type TenantNames = ReadonlyMap<string, ReadonlySet<TenantId>>

const known = new WeakMap<Store, { readonly at: Instant; readonly names: Promise<TenantNames> }>()

/**
 * Whether a name looks like that of another tenant. A name that also looks like the tenant's own is
 * its own: the operator has allowed it.
 */
export async function isNameOfAnotherTenant(
  service: Service,
  { id }: Pick<Tenant, 'id'>,
  name: string,
): Promise<boolean> {
  const names = await namesOf(service)
  return lookalikeKeys(name).some((key) => names.get(key)?.has(id) === false)
}

function namesOf({ store, clock }: Service): Promise<TenantNames> {
  const now = clock.now()
  const last = known.get(store)
  if (last !== undefined && now - last.at < TENANT_NAMES_TTL_MS) return last.names
  const names = readNames(store)
  known.set(store, { at: now, names })
  // The next create reads them again.
  names.catch(() => known.delete(store))
  return names
}

async function readNames(store: Store): Promise<TenantNames> {
  const tenants = await store.read((tables) => tables.tenants.list())
  const names = new Map<string, Set<TenantId>>()
  for (const { id, name } of tenants)
    for (const key of lookalikeKeys(name)) {
      const ids = names.get(key) ?? new Set()
      names.set(key, ids.add(id))
    }
  return names
}
