import type { Secret } from '@bonded/contract'

/** The integrator's own row for a session it asked for. Times are RFC 3339 UTC, as on the wire. */
export interface PendingRow {
  readonly session_id: string
  readonly workflow: string
  readonly action: string
  /** The signed-in user or browser login that requested the bond. Other users cannot use it. */
  readonly owner: string
  readonly completion_secret: Secret
  /** The digest that the session was bound to, if it was. */
  readonly context_digest: string | null
  /** The user whose phone must approve, if known. */
  readonly subject_ref: string | null
  readonly created_at: string
  /** As create answered it. A bond moves the session's expiry forward: ask the service, not this. */
  readonly expires_at: string
  /** Null until an action used the bond. */
  readonly used_at: string | null
}

/** Which row is used, by whom, when. */
export interface PendingUse {
  readonly session_id: string
  readonly owner: string
  readonly used_at: string
}

/** The service moves an expiry forward by at most 15 minutes and repeats a completion for an hour; then a row is of no use. */
export const ROW_KEPT_AFTER_EXPIRY_MS = 2 * 60 * 60 * 1000

/**
 * Where the gate keeps its rows. `Tx` is your database's transaction, handed to your action as it is.
 * Every adapter passes `tests/pending-store-suite.ts`.
 *
 * @example
 * // A SQL adapter's `use` is one guarded statement; the row that it changes is the proof:
 * // update bond set used_at = $3 where session_id = $1 and owner = $2 and used_at is null
 */
export interface PendingStore<Tx = unknown> {
  /** Durable when it resolves. Putting the same session again changes nothing: a use is never undone by it. */
  put(row: PendingRow): Promise<void>
  /** The row as last committed; undefined when there is none. */
  find(session_id: string): Promise<PendingRow | undefined>
  /**
   * Runs `work` in one transaction: committed and durable when the promise resolves, without a trace
   * when `work` rejects. A transaction is never run twice by the store.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Marks an unused row as used, inside `tx`. At most one of any number of concurrent calls gets
   * true and commits; the others wait for its end or get false at once. An unknown row or another
   * owner also gets false. When `tx` rolls back, the row is unused again.
   */
  use(use: PendingUse, tx: Tx): Promise<boolean>
  /** Drops rows that expired before this time; a call now and then is enough. Returns how many. */
  removeExpired(before: string): Promise<number>
}
