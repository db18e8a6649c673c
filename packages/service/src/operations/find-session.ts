import type { SessionId } from '@bonded/contract'
import { accept, type Result, refuse } from '../domain/refusal.ts'
import { isReadable, type Session } from '../domain/session.ts'
import type { Tenant } from '../domain/tenant.ts'
import type { Tables, Work } from '../ports/store.ts'
import type { Service } from './service.ts'

/**
 * A session of this tenant that can still be read. A foreign one, an unknown one and a forgotten one read the
 * same, so a guesser learns nothing (protocol 3). So does one whose root key is gone.
 */
export function* findOwn(
  service: Service,
  tables: Tables,
  of: { id: SessionId | undefined; tenant: Tenant; now: number },
): Work<Result<Session>> {
  const session = of.id && (yield* tables.sessions.find(of.id))
  const own =
    session &&
    session.tenantId === of.tenant.id &&
    isReadable(session, of.now) &&
    service.keys.holds(session.rootKeyId)
  return own ? accept(session) : refuse('session_not_found')
}
