import { KEPT_AFTER_END_MS } from '../domain/lifetimes.ts'
import { type Batch, BATCH_SESSIONS } from './batch.ts'
import type { Service } from './service.ts'

/** A used challenge is one small row; a session is a dozen. */
const BATCH_CHALLENGES = 500

/**
 * Deletes sessions that ended a day ago, with their events, their phones' failures and their Idempotency-Keys, and
 * the registration challenges nobody can use any more. What is left to do stands in the store and nowhere else: a
 * process that ends in the middle has lost nothing, and the next one goes on.
 */
export async function purgeSessions(service: Service): Promise<Batch> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    const challenges = yield* tables.devices.purgeChallenges(now, BATCH_CHALLENGES)
    const done = yield* tables.sessions.purge(now - KEPT_AFTER_END_MS, BATCH_SESSIONS)
    return { done, more: done === BATCH_SESSIONS || challenges === BATCH_CHALLENGES }
  })
}
