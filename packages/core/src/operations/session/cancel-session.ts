import type { SessionId } from '@bonded/contract'
import { accept, type Result } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import { isStoredFor, MOVES } from '../../protocol/states.ts'
import { findAndExpireWatchedSession, readWatchedSession } from './find-and-expire.ts'
import type { BrowserCaller, Service } from '../service.ts'

/**
 * Cancels a session for a page that presents its watch token, while the phone can still answer.
 * Returns the session as it is afterwards: of a cancel and an approval, exactly one takes effect,
 * and the caller reads which.
 *
 * A page cannot cancel a bond. The backend may already have acted on it, and the phone would show
 * its user that nothing was approved.
 */
export async function cancelSession(
  service: Service,
  { key }: Pick<BrowserCaller, 'key'>,
  { id, watchToken }: { id: SessionId | undefined; watchToken: string | undefined },
): Promise<Result<Session>> {
  const watcher = { id, key, watchToken }
  // Publishable keys are public, so a caller without a watch token must not occupy the writer.
  const seen = await readWatchedSession(service, watcher)
  // By the stored state: whether a session has expired is decided with its row locked, because
  // another call may be about to store an end from before. If the time ends after that, the move
  // has no effect, and the next pass stores the end.
  if (!seen.ok || !isStoredFor(seen.value, MOVES.cancel)) return seen
  return service.store.write(function* (tables) {
    for (;;) {
      const found = yield* findAndExpireWatchedSession(service, tables, watcher)
      if (!found.ok || !isStoredFor(found.value, MOVES.cancel)) return found
      const canceled = yield* tables.sessions.move(found.value, MOVES.cancel, {
        now: service.clock.now(),
      })
      if (canceled !== undefined) return accept(canceled)
    }
  })
}
