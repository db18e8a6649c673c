import type { SessionId, Timeline } from '@bonded/contract'
import type { Session } from '../../domain/session.ts'
import { stateAt } from '../../protocol/states.ts'
import type { Service } from '../service.ts'
import { sessionNotFound } from './operator-error.ts'

/** A session of any tenant, until it is purged, with its state by this machine's time. */
export async function inspectSession(
  service: Service,
  id: SessionId,
): Promise<{ session: Session; state: Session['state']; timeline: Timeline['entries'] }> {
  const now = service.clock.now()
  const found = await service.store.read(function* (tables) {
    const session = yield* tables.sessions.find(id)
    return (
      session && {
        session,
        state: stateAt(session, now),
        timeline: yield* tables.sessions.timeline(id),
      }
    )
  })
  if (found === undefined) throw sessionNotFound(id)
  return found
}
