import type { SessionId, TenantId } from '@bonded/contract'
import type { Session } from '../domain/session.ts'
import type { StoredEvent } from './tables/session-table.ts'

/** A session has new stored events. */
export interface ChangeNotification {
  readonly sessionId: SessionId
  /** The number of the latest event. */
  readonly seq: number
  /** What watchers need of the change, so that they do not read it. Absent: they must read. */
  readonly change?: Change
  /** Only of a change by another node, whose callers this node may not have met. */
  readonly callers?: Callers
}

/** The callers of a session that its change reveals. */
export interface Callers {
  readonly tenantId: TenantId
  /** SHA-256 of the token of the phone that holds the session, if any. */
  readonly tokenHash: Uint8Array | null
}

/** Events without a gap, in order of `seq`, and the session after the last of them. */
export interface Change {
  readonly session: Session
  readonly events: readonly [StoredEvent, ...StoredEvent[]]
}

/**
 * Notifies watchers that a session changed: in order of `seq` within a session, and only after the
 * change is durable. At most once for each event, except that a notification without its change may
 * repeat an earlier one. Callers that need certainty must read the store.
 */
export interface Bus {
  publish(notification: ChangeNotification): void
  /** @returns a function that ends the subscription */
  subscribe(sessionId: SessionId, listener: (notification: ChangeNotification) => void): () => void
  /**
   * The same for the changes of all sessions.
   *
   * @returns a function that ends the subscription
   */
  subscribeAll(listener: (notification: ChangeNotification) => void): () => void
  /** Whether the session has a subscription. */
  isWatched(sessionId: SessionId): boolean
}
