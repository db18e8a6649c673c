import type { SessionId, SessionState, TenantId } from '@bonded/contract'
import { type Session, stateAt } from '../../domain/session.ts'
import type { Service } from '../service.ts'

/** Which sessions to list. */
export interface SessionFilter {
  readonly tenantId?: TenantId | undefined
  readonly state?: SessionState | undefined
  /** `next` of the page before. */
  readonly after?: SessionCursor | undefined
  readonly limit: number
}

/** The last session of a page. It stays valid when that session is purged. */
export interface SessionCursor {
  readonly id: SessionId
  readonly createdAt: number
}

/** One page of sessions. */
export interface SessionPage {
  readonly sessions: readonly { readonly session: Session; readonly state: SessionState }[]
  /** Where the next page starts; undefined on the last page. */
  readonly next: SessionCursor | undefined
}

/** Lists sessions, newest first. No page repeats a session, whatever is created meanwhile. */
export async function listSessions(
  service: Service,
  { tenantId, state, after, limit }: SessionFilter,
): Promise<SessionPage> {
  const now = service.clock.now()
  const found = await service.store.read((tables) =>
    tables.sessions.list({
      tenantId,
      state: state && { is: state, at: now },
      before: after,
      // One more than asked for tells whether there is another page.
      limit: limit + 1,
    }),
  )
  const page = found.slice(0, limit)
  const last = page.at(-1)
  return {
    sessions: page.map((session) => ({ session, state: stateAt(session, now) })),
    next:
      last === undefined || found.length <= limit
        ? undefined
        : { id: last.id, createdAt: last.createdAt },
  }
}
