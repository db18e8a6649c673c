import type { SessionId } from '@bonded/contract'

/** A session has a new stored event. */
export interface Announcement {
  readonly sessionId: SessionId
  readonly seq: number
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
