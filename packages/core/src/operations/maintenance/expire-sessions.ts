import { MOVES } from '../../protocol/states.ts'
import { type Batch, BATCH_SESSIONS } from './batch.ts'
import type { Service } from '../service.ts'

/** Stores the expiry of sessions. Reads do not depend on it: they evaluate the stored times. */
export async function expireSessions(service: Service): Promise<Batch> {
  const now = service.clock.now()
  // A write costs a transaction, and most rounds have nothing to do.
  const [first] = await service.store.read(({ sessions }) => sessions.overdue(now, 1))
  if (first === undefined) return { done: 0, more: false }
  return service.store.write(function* (tables) {
    const overdue = yield* tables.sessions.overdue(now, BATCH_SESSIONS)
    for (const session of overdue) yield* tables.sessions.move(session, MOVES.expire, { now })
    return { done: overdue.length, more: overdue.length === BATCH_SESSIONS }
  })
}
