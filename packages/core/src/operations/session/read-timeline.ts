import type { SessionId, Timeline } from '@bonded/contract'
import { accept, type Result } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { findAndExpireKeptSession, readAndExpire } from './find-and-expire.ts'
import type { BackendCaller, Service } from '../service.ts'

interface Read {
  readonly session: Session
  readonly entries: Timeline['entries']
}

/** Returns the history of a session of this tenant, until the session is purged. */
export async function readTimeline(
  service: Service,
  caller: BackendCaller,
  id: SessionId | undefined,
): Promise<Result<Timeline>> {
  const read = function* (tables: Tables): Work<Result<Read>> {
    const found = yield* findAndExpireKeptSession(service, tables, { id, key: caller.credential })
    if (!found.ok) return found
    const session = found.value
    return accept({ session, entries: yield* tables.sessions.timeline(session.id) })
  }
  const found = await readAndExpire(service, read, (result) =>
    result.ok ? result.value.session : undefined,
  )
  if (!found.ok) return found
  const { session, entries } = found.value
  return accept({ session_id: session.id, state: session.state, entries })
}
