import type { SessionId } from '@bonded/contract'
import type { Session } from '../domain/session.ts'
import type { StoredEvent } from './store.ts'

/** A session has a new stored event. */
export interface ChangeNotification {
  readonly sessionId: SessionId
  readonly seq: number
  /** The event and the session at that time, if this process made the change. */
  readonly change?: { readonly session: Session; readonly event: StoredEvent }
}

/**
 * Notifies watchers that a session changed. At most once for each event, in order of `seq` within a
 * session, and only after the change is durable. Callers that need certainty must read the store.
 */
export interface Bus {
  publish(notification: ChangeNotification): void
  /** @returns a function that ends the subscription */
  subscribe(sessionId: SessionId, listener: (notification: ChangeNotification) => void): () => void
}
