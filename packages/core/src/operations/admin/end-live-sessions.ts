import { mayMove, MOVES } from '../../protocol/states.ts'
import { BATCH_SESSIONS } from '../maintenance/batch.ts'
import type { Service } from '../service.ts'

/**
 * Ends every live session of every tenant. After a restore it is unknown what became of a session
 * since the backup. A completed one could otherwise be completed a second time.
 *
 * @returns how many sessions it killed; those that had reached their expiry expire
 */
export async function endLiveSessions(service: Service): Promise<number> {
  for (let killed = 0; ; ) {
    const batch = await service.store.write(function* (tables) {
      const now = service.clock.now()
      const live = yield* tables.sessions.overdue(Number.MAX_SAFE_INTEGER, BATCH_SESSIONS)
      let ended = 0
      for (const session of live) {
        const kill = mayMove(session, MOVES.killByOperator, now)
        yield* tables.sessions.move(session, kill ? MOVES.killByOperator : MOVES.expire, { now })
        if (kill) ended += 1
      }
      return { ended, more: live.length > 0 }
    })
    killed += batch.ended
    if (!batch.more) return killed
  }
}
