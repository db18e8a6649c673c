import type { SessionId } from '@bonded/contract'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import { allowsOrigin, type Tenant } from '../../domain/tenant.ts'
import type { Tables } from '../../ports/store.ts'
import type { StoredEvent } from '../../ports/tables/session-table.ts'
import type { Work } from '../../ports/work.ts'
import { findAndExpireWatchedSession, readAndExpire } from './find-and-expire.ts'
import type { PageCaller } from '../authenticate.ts'
import { storeOrigin } from './read-session.ts'
import type { Service } from '../service.ts'

export interface WatchInput {
  readonly id: SessionId | undefined
  readonly watchToken: string
  /** The `seq` of the last event that a returning client received. */
  readonly after: number | undefined
}

/** The initial data of a channel. */
export interface Watched {
  readonly session: Session
  readonly tenant: Tenant
  /**
   * The events that a returning client missed. Undefined: the channel starts with the session
   * itself.
   */
  readonly events: readonly StoredEvent[] | undefined
}

/**
 * Admits a channel to a session by its watch token. A page also comes from an origin of the tenant,
 * and its key, if it presents one, covers the session. The first admitted page sets the origin that
 * the phone shows.
 */
export async function watchSession(
  service: Service,
  caller: PageCaller | null,
  { id, watchToken, after }: WatchInput,
): Promise<Result<Watched>> {
  const key = caller?.key ?? null
  const watch = function* (tables: Tables): Work<Result<Watched>> {
    const found = yield* findAndExpireWatchedSession(service, tables, { id, key, watchToken })
    if (!found.ok) return found
    const session = found.value
    const tenant = yield* tables.tenants.find(session.tenantId)
    if (tenant === undefined) return reject('session_not_found')
    if (caller !== null && !allowsOrigin(tenant, caller.origin)) return reject('origin_not_allowed')
    const resumes = after !== undefined && after <= session.seq
    const events = resumes ? yield* tables.sessions.eventsAfter(session.id, after) : undefined
    return accept({ session, tenant, events })
  }
  const watched = await readAndExpire(service, watch, (result) =>
    result.ok ? result.value.session : undefined,
  )
  if (watched.ok && caller !== null)
    await storeOrigin(service, watched.value.session, caller.origin)
  return watched
}
