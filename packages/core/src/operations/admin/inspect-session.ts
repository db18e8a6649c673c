import type { SessionId, Timeline } from '@bonded/contract'
import type { Session } from '../../domain/session.ts'
import { stateAt } from '../../protocol/states.ts'
import type { Service } from '../service.ts'
import { sessionNotFound } from './operator-error.ts'

/** A session, with its state by this machine's time. */
export interface SessionNow {
  readonly session: Session
  readonly state: Session['state']
}

/** A session of any tenant, until it is purged, beside those of its quorum, if it is in one. */
export async function inspectSession(
  service: Service,
  id: SessionId,
): Promise<SessionNow & { timeline: Timeline['entries']; quorum: readonly SessionNow[] }> {
  const now = service.clock.now()
  const atNow = (session: Session): SessionNow => ({ session, state: stateAt(session, now) })
  const found = await service.store.read(function* (tables) {
    const session = yield* tables.sessions.find(id)
    if (session === undefined) return undefined
    const { quorumId } = session
    const all = quorumId === null ? [] : yield* tables.sessions.ofQuorum(quorumId)
    const timeline = yield* tables.sessions.timeline(id)
    return { ...atNow(session), timeline, quorum: all.map(atNow) }
  })
  if (found === undefined) throw sessionNotFound(id)
  return found
}
