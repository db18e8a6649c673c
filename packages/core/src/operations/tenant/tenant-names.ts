import type { TenantId } from '@bonded/contract'
import { lookalikeKeys, lookalikeWords } from '../../domain/lookalikes.ts'
import type { Instant } from '../../domain/session.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { Store } from '../../ports/store.ts'
import type { Service } from '../service.ts'

/** How long the names are used, so that creates read all tenants at most once a minute. */
export const TENANT_NAMES_TTL_MS = 60_000

interface TenantNames {
  /** The tenants by the keys of their names. */
  readonly byKey: ReadonlyMap<string, ReadonlySet<TenantId>>
  /** The length of the longest key. */
  readonly longest: number
}

const known = new WeakMap<Store, { readonly at: Instant; readonly names: Promise<TenantNames> }>()

/**
 * Whether a text has words that look like the name of another tenant. Words that also look like the
 * tenant's own name, or are a part of it there, are its own: the operator has allowed them.
 */
export async function namesAnotherTenant(
  service: Service,
  { id }: Pick<Tenant, 'id'>,
  text: string,
): Promise<boolean> {
  const { byKey, longest } = await namesOf(service)
  const words = lookalikeWords(text)
  const found = words.flatMap((first, start) =>
    first.flatMap((_, form) => {
      const runs: { start: number; end: number; isOwn: boolean }[] = []
      let key = ''
      for (let end = start; end < words.length && key.length < longest; end += 1) {
        key += words[end]?.[form] ?? ''
        const tenants = byKey.get(key)
        if (tenants !== undefined) runs.push({ start, end, isOwn: tenants.has(id) })
      }
      return runs
    }),
  )
  const own = found.filter(({ isOwn }) => isOwn)
  return found.some(
    ({ start, end, isOwn }) =>
      !isOwn && !own.some((name) => name.start <= start && end <= name.end),
  )
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
  return { byKey: names, longest: Math.max(0, ...Array.from(names.keys(), (key) => key.length)) }
}
