import type { SessionId } from '@bonded/contract'
import { isInbox, isWithdrawn } from '../../domain/inbox.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import { hasMoved, isStoredFor, MOVES } from '../../protocol/states.ts'
import { findAndExpireSession } from './find-and-expire.ts'
import type { BackendCaller, Service } from '../service.ts'

/**
 * Ends a session for its tenant. On a killed or completed session it succeeds without effect, so a
 * retry is safe, and a backend can clean up without knowing how a session ended. A session that has
 * expired reads as not found.
 */
export async function killSession(
  service: Service,
  caller: BackendCaller,
  id: SessionId | undefined,
): Promise<Result<Session>> {
  return service.store.write(function* (tables) {
    for (;;) {
      const wanted = { id, key: caller.credential }
      const found = yield* findAndExpireSession(service, tables, wanted)
      if (!found.ok) return found
      // As stored: if the session's time ends after this read, the move has no effect, and the next
      // pass stores the end.
      const session = found.value
      if (hasMoved(session, MOVES.kill) || hasMoved(session, MOVES.complete)) return found
      if (!isStoredFor(session, MOVES.kill)) return reject('session_not_found')
      // After the wait for the row, which another node may have locked: time has passed.
      const now = service.clock.now()
      const killed = yield* tables.sessions.move(session, MOVES.kill, { now })
      if (killed === undefined) continue
      if (isInbox(killed) && isWithdrawn(killed))
        yield* tables.sessions.countRequest(killed, 'withdrawn')
      return accept(killed)
    }
  })
}
