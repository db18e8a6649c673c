import type { SessionId } from '@bonded/contract'
import { lastAcceptedIndex } from '../../domain/challenge.ts'
import { isInbox } from '../../domain/inbox.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import { isReadable } from '../../protocol/states.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { readAndExpire, expireIfOverdue } from '../session/find-and-expire.ts'
import { noncesOf, type Service } from '../service.ts'

/** What an invitation shows: the session and its tenant. */
export interface Invited {
  readonly session: Session
  readonly tenant: Tenant
}

/**
 * Returns a session and its tenant to a phone that has scanned the QR code and has no key yet. The
 * nonce authorizes it: one that a phone may use now or, once the session is no longer pending,
 * could use last. Every other case reads as not found.
 */
export async function readInvitation(
  service: Service,
  { id, nonce }: { id: SessionId | undefined; nonce: string | undefined },
): Promise<Result<Invited>> {
  const notFound = reject('session_not_found')
  if (id === undefined || nonce === undefined) return notFound
  const found = await readAndExpire<Invited | undefined>(
    service,
    function* (tables) {
      const session = yield* tables.sessions.find(id)
      const tenant = session && (yield* tables.tenants.find(session.tenantId))
      return (
        session && tenant && { session: yield* expireIfOverdue(service, tables, session), tenant }
      )
    },
    (each) => each?.session,
  )
  const now = service.clock.now()
  if (found === undefined || !service.keys.holds(found.session.rootKeyId)) return notFound
  if (!isReadable(found.session, now) || isInbox(found.session)) return notFound
  const nonces = noncesOf(service, found.session)
  return lastAcceptedIndex(found.session, nonce, { now, nonces }) === undefined
    ? notFound
    : accept(found)
}
