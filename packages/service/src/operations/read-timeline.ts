import type { SessionId, Timeline } from '@bonded/contract'
import { accept, type Result } from '../domain/refusal.ts'
import { stateAt } from '../domain/session.ts'
import { findKeptSession } from './find-session.ts'
import type { BackendCaller, Service } from './service.ts'

/** Returns the history of a session of this tenant, until the session is purged. */
export async function readTimeline(
  service: Service,
  caller: BackendCaller,
  id: SessionId | undefined,
): Promise<Result<Timeline>> {
  const now = service.clock.now()
  return service.store.read(function* (tables) {
    const found = yield* findKeptSession(tables, { id, key: caller.credential })
    if (!found.ok) return found
    const session = found.value
    return accept({
      session_id: session.id,
      state: stateAt(session, now),
      entries: yield* tables.sessions.timeline(session.id),
    })
  })
}
