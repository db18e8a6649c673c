import type { SessionId } from '@bonded/contract'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import { hasPassed, isReadable, MOVES } from '../../protocol/states.ts'
import { inScope } from '../../domain/tenant.ts'
import type { Tables, Unit } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import type { PublishableKey, ServerCredential } from '../../ports/tables/tenant-table.ts'
import type { Service } from '../service.ts'

/**
 * A server credential or a publishable key: its tenant and scope decide which sessions it reads.
 */
export type TenantKey = Pick<ServerCredential | PublishableKey, 'tenant' | 'scope'>

interface Wanted {
  readonly id: SessionId | undefined
  readonly key: TenantKey
}

/**
 * Returns a session that this key may read now. This is the only place that decides it: an unknown
 * session, another tenant's, one outside the key's scope, one that ended over an hour ago and one
 * whose root key is gone all read as not found, so that guessing reveals nothing (protocol 3).
 */
export function* findAndExpireSession(
  service: Service,
  tables: Tables,
  wanted: Wanted,
): Work<Result<Session>> {
  const found = yield* findAndExpireKeptSession(service, tables, wanted)
  return found.ok && !isAvailable(service, found.value) ? reject('session_not_found') : found
}

/** Like {@link findAndExpireSession}, until the purge: for a timeline and for a replay. */
export function* findAndExpireKeptSession(
  service: Service,
  tables: Tables,
  { id, key }: Wanted,
): Work<Result<Session>> {
  const session = id && (yield* tables.sessions.find(id))
  return session && isVisible(session, key)
    ? accept(yield* expireIfOverdue(service, tables, session))
    : reject('session_not_found')
}

/**
 * A watch token, and who presents it. A browser must also present a key that may read the session.
 * For a phone, which received the token with its claim, the key is null.
 */
export interface Watcher {
  readonly id: SessionId | undefined
  readonly key: TenantKey | null
  readonly watchToken: string | undefined
}

/** Returns the session that a watch token opens. A wrong token costs no read. */
export function* findAndExpireWatchedSession(
  service: Service,
  tables: Tables,
  { id, key, watchToken }: Watcher,
): Work<Result<Session>> {
  const notFound = reject('session_not_found')
  if (id === undefined || watchToken === undefined) return notFound
  const keyId = service.keys.watchTokenKeyId(id, watchToken)
  if (keyId === undefined) return notFound
  const session = yield* tables.sessions.find(id)
  if (session?.rootKeyId !== keyId || !isReadable(session, service.clock.now())) return notFound
  return key === null || isVisible(session, key)
    ? accept(yield* expireIfOverdue(service, tables, session))
    : notFound
}

/** Reads the session that a watch token opens, as it is now. */
export function readWatchedSession(service: Service, watcher: Watcher): Promise<Result<Session>> {
  return readAndExpire(
    service,
    (tables) => findAndExpireWatchedSession(service, tables, watcher),
    (found) => (found.ok ? found.value : undefined),
  )
}

/**
 * Runs a unit that reads a session. If the end of the session is not stored yet, the unit runs once
 * more, and stores it ({@link expireIfOverdue}).
 *
 * @param sessionOf the session in the unit's result, if any
 */
export async function readAndExpire<T>(
  { store, clock }: Service,
  unit: Unit<T>,
  sessionOf: (value: T) => Session | undefined,
): Promise<T> {
  const value = await store.read(unit)
  const session = sessionOf(value)
  return session !== undefined && hasPassed(session, clock.now()) ? store.write(unit) : value
}

/**
 * Stores the end of a session whose time is over, in a unit that may write, before a response
 * reports it. Another node may have begun a change while the session was live, which its network
 * delays. Once the end is stored, that change has no effect.
 *
 * @param now the instant by which the caller decides whether the session has ended
 * @returns the session as it is stored now
 */
export function* expireIfOverdue(
  { clock }: Service,
  tables: Tables,
  session: Session,
  now = clock.now(),
): Work<Session> {
  if (!tables.mayWrite || !hasPassed(session, now)) return session
  return (yield* tables.sessions.move(session, MOVES.expire, { now })) ?? session
}

/** Whether a key may read what belongs to a session: its own tenant's, in its scope. */
export function isVisible(
  { tenantId, workflow, action }: Pick<Session, 'tenantId' | 'workflow' | 'action'>,
  { tenant, scope }: TenantKey,
): boolean {
  return tenantId === tenant.id && inScope(scope, workflow, action)
}

/** Whether the session can be read: for an hour after its end, while its root key is there. */
export function isAvailable({ clock, keys }: Service, session: Session): boolean {
  return isReadable(session, clock.now()) && keys.holds(session.rootKeyId)
}
