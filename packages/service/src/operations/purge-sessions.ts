import { RETENTION_AFTER_END_MS } from '../domain/lifetimes.ts'
import { type Batch, BATCH_SESSIONS } from './batch.ts'
import type { Service } from './service.ts'

/** A used challenge is one small row; a session has a dozen. */
const BATCH_CHALLENGES = 500

/**
 * Deletes sessions that ended 24 hours ago, with their events, failure counts and Idempotency-Keys,
 * and expired registration challenges. The store alone has the remaining work, so a process that
 * stops midway loses nothing.
 */
export async function purgeSessions(service: Service): Promise<Batch> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    const challenges = yield* tables.devices.purgeChallenges(now, BATCH_CHALLENGES)
    const { length: done } = yield* tables.sessions.purge(
      now - RETENTION_AFTER_END_MS,
      BATCH_SESSIONS,
    )
    return { done, more: done === BATCH_SESSIONS || challenges === BATCH_CHALLENGES }
  })
}
