import type { SessionId } from '@bonded/contract'
import { accept, type Result, refuse } from '../domain/refusal.ts'
import { mayMove, type Session, stateAt } from '../domain/session.ts'
import { MOVES } from '../domain/transitions.ts'
import { findSession } from './find-session.ts'
import type { BackendCaller, Service } from './service.ts'

/**
 * Ends a session for its tenant. Killing a killed session again succeeds, so a retry is safe. A
 * session that has completed or expired reads as not found.
 */
export async function killSession(
  service: Service,
  caller: BackendCaller,
  id: SessionId | undefined,
): Promise<Result<Session>> {
  return service.store.write(function* (tables) {
    for (;;) {
      const wanted = { id, key: caller.credential, now: service.clock.now() }
      const found = yield* findSession(service, tables, wanted)
      if (!found.ok) return found
      // After the wait for the row, which another node may have locked: time has passed.
      const now = service.clock.now()
      if (stateAt(found.value, now) === MOVES.kill.to) return found
      if (!mayMove(found.value, MOVES.kill, now)) return refuse('session_not_found')
      const killed = yield* tables.sessions.move(found.value, MOVES.kill, { now })
      if (killed !== undefined) return accept(killed)
    }
  })
}
