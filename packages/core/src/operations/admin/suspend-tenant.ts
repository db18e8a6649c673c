import type { TenantId } from '@bonded/contract'
import type { Instant } from '../../domain/session.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { MOVES } from '../../protocol/states.ts'
import { BATCH_SESSIONS } from '../maintenance/batch.ts'
import { expireIfOverdue } from '../session/find-and-expire.ts'
import type { Service } from '../service.ts'
import { tenantNotFound } from './operator-error.ts'

/** A tenant as it is after a suspension or its end. */
export interface SuspendedTenant {
  readonly tenant: Tenant
  /** False if the tenant was suspended, or was not, before. */
  readonly changed: boolean
  /** How many sessions the suspension has ended. */
  readonly ended: number
}

/**
 * Suspends a tenant: it can ask for no approval, and its sessions that are not bonded end. What is
 * bonded completes. A running service applies it within a second. A second call ends what an
 * interrupted one has left.
 *
 * @throws {OperatorError} where the tenant does not exist
 */
export async function suspendTenant(service: Service, id: TenantId): Promise<SuspendedTenant> {
  const { store, clock } = service
  const first = await store.write(function* (tables) {
    const change = yield* setSuspended(tables, id, clock.now())
    return { ...change, ended: yield* endOpenSessions(service, tables, id) }
  })
  return { ...first, ended: first.ended + (await finishSuspension(service, id)) }
}

/**
 * Ends the sessions of a suspended tenant that are left, in batches.
 *
 * @returns how many it has ended
 */
export async function finishSuspension(service: Service, id: TenantId): Promise<number> {
  const { store } = service
  let ended = 0
  while ((await store.read((tables) => openSessions(tables, id, 1))).length > 0)
    ended += await store.write((tables) => endOpenSessions(service, tables, id))
  return ended
}

/** Ends a suspension. The sessions that it ended stay so. */
export function resumeTenant({ store }: Service, id: TenantId): Promise<SuspendedTenant> {
  return store.write(function* (tables) {
    return { ...(yield* setSuspended(tables, id, null)), ended: 0 }
  })
}

/**
 * Stores a suspension or its end, in the unit of another change.
 *
 * @throws {OperatorError} where the tenant does not exist
 */
export function* setSuspended(
  tables: Tables,
  id: TenantId,
  at: Instant | null,
): Work<Pick<SuspendedTenant, 'tenant' | 'changed'>> {
  const changed = yield* tables.tenants.setSuspended(id, at)
  const tenant = yield* tables.tenants.find(id)
  if (tenant === undefined) throw tenantNotFound(id)
  return { tenant, changed }
}

function openSessions({ sessions }: Tables, id: TenantId, limit: number) {
  return sessions.movable(id, MOVES.suspend, limit)
}

/** @returns how many sessions of a batch the suspension has ended */
function* endOpenSessions(service: Service, tables: Tables, id: TenantId): Work<number> {
  let ended = 0
  for (const found of yield* openSessions(tables, id, BATCH_SESSIONS)) {
    const session = yield* expireIfOverdue(service, tables, found)
    const now = service.clock.now()
    if ((yield* tables.sessions.move(session, MOVES.suspend, { now })) !== undefined) ended += 1
  }
  return ended
}
