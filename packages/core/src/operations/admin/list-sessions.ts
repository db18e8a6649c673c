import type { SessionId, SessionState } from '@bonded/contract'
import type { Session } from '../../domain/session.ts'
import { stateAt } from '../../protocol/states.ts'
import type { SessionQuery } from '../../ports/tables/session-table.ts'
import type { Service } from '../service.ts'

/** Which sessions to list. */
export interface SessionFilter extends Omit<SessionQuery, 'state' | 'before'> {
  readonly state?: SessionState | undefined
  /** `next` of the page before. */
  readonly after?: SessionId | undefined
}

/** One page of sessions. */
export interface SessionPage {
  readonly sessions: readonly { readonly session: Session; readonly state: SessionState }[]
  /** `after` of the next page, also when that session is purged; undefined on the last page. */
  readonly next: SessionId | undefined
}

/**
 * Lists sessions, newest first. No page repeats a session, whatever is created meanwhile. With a
 * filter, a page can have fewer sessions than the limit although another page follows.
 */
export async function listSessions(
  service: Service,
  { state, after, limit, ...filter }: SessionFilter,
): Promise<SessionPage> {
  const now = service.clock.now()
  const { sessions, readTo } = await service.store.read((tables) =>
    tables.sessions.list({
      ...filter,
      state: state && { is: state, at: now },
      before: after,
      // One more than the limit shows whether there is another page.
      limit: limit + 1,
    }),
  )
  const page = sessions.slice(0, limit)
  return {
    sessions: page.map((session) => ({ session, state: stateAt(session, now) })),
    next: sessions.length > limit ? page.at(-1)?.id : readTo,
  }
}
