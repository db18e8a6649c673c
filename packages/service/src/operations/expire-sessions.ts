import { KEPT_AFTER_END_MS } from '../domain/lifetimes.ts'
import { MOVES } from '../domain/transitions.ts'
import type { Service } from './service.ts'

/** Sessions a sweep: few enough that the calls waiting behind it do not notice. */
const BATCH = 200

/** Writes down the end of sessions whose time is up. Readers did not wait for it: they judge by the stored times. */
export async function expireSessions(service: Service): Promise<number> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    const overdue = yield* tables.sessions.overdue(now, BATCH)
    for (const session of overdue) yield* tables.sessions.move(session, MOVES.expire, { now })
    return overdue.length
  })
}

/** Deletes what ended a day ago, and the registration challenges nobody can use any more. */
export async function forgetSessions(service: Service): Promise<number> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    yield* tables.devices.forgetChallenges(now)
    return yield* tables.sessions.forget(now - KEPT_AFTER_END_MS, BATCH)
  })
}
