import type { SessionId } from '@bonded/contract'
import type { Session } from '../domain/session.ts'
import type { StoredEvent } from './store.ts'

/** A session has a new stored event. */
export interface Announcement {
  readonly sessionId: SessionId
  readonly seq: number
  /** The event and the session as it was then, where the change was made in this process. */
  readonly change?: { readonly session: Session; readonly event: StoredEvent }
}

/**
 * Tells whoever watches a session that it changed. At most once, in order of `seq` for one session, only after
 * the change is durable. Whoever needs certainty reads the store.
 */
export interface Bus {
  publish(announcement: Announcement): void
  /** @returns stops the subscription */
  subscribe(sessionId: SessionId, listener: (announcement: Announcement) => void): () => void
}
