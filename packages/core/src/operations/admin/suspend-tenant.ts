import type { TenantId } from '@bonded/contract'
import type { Tenant } from '../../domain/tenant.ts'
import { MOVES } from '../../protocol/states.ts'
import { BATCH_SESSIONS } from '../batch.ts'
import { expireIfOverdue } from '../find-and-expire.ts'
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
  const change = await setSuspended(service, id, service.clock.now())
  for (let ended = 0; ; ) {
    const batch = await endOpenSessions(service, id)
    if (batch.length === 0) return { ...change, ended }
    ended += batch.filter(Boolean).length
  }
}

/** Ends a suspension. The sessions that it ended stay so. */
export async function resumeTenant(service: Service, id: TenantId): Promise<SuspendedTenant> {
  return { ...(await setSuspended(service, id, null)), ended: 0 }
}

function setSuspended(
  { store }: Service,
  id: TenantId,
  at: number | null,
): Promise<Pick<SuspendedTenant, 'tenant' | 'changed'>> {
  return store.write(function* (tables) {
    const changed = yield* tables.tenants.setSuspended(id, at)
    const tenant = yield* tables.tenants.find(id)
    if (tenant === undefined) throw tenantNotFound(id)
    return { tenant, changed }
  })
}

/** @returns for each session that it found, whether the suspension has ended it */
function endOpenSessions(service: Service, id: TenantId): Promise<readonly boolean[]> {
  return service.store.write(function* (tables) {
    const ended = []
    for (const found of yield* tables.sessions.movable(id, MOVES.suspend, BATCH_SESSIONS)) {
      const session = yield* expireIfOverdue(service, tables, found)
      const now = service.clock.now()
      const moved = yield* tables.sessions.move(session, MOVES.suspend, { now })
      ended.push(moved !== undefined)
    }
    return ended
  })
}
