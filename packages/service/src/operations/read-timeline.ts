import type { SessionId, Timeline } from '@bonded/contract'
import { accept, type Result, refuse } from '../domain/refusal.ts'
import { stateAt } from '../domain/session.ts'
import type { BackendCaller, Service } from './service.ts'

/** What happened to a session of this tenant, as long as it is kept. */
export async function readTimeline(
  service: Service,
  caller: BackendCaller,
  id: SessionId | undefined,
): Promise<Result<Timeline>> {
  const now = service.clock.now()
  return service.store.read(function* (tables) {
    const session = id && (yield* tables.sessions.find(id))
    if (!session || session.tenantId !== caller.credential.tenant.id)
      return refuse('session_not_found')
    return accept({
      session_id: session.id,
      state: stateAt(session, now),
      entries: yield* tables.sessions.timeline(session.id),
    })
  })
}
