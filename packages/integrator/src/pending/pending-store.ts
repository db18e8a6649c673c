import type { Secret } from '@bonded/contract'

/** The backend's own row for a session that it created. Times are RFC 3339 in UTC. */
export interface PendingRow {
  readonly session_id: string
  readonly workflow: string
  readonly action: string
  /** The signed-in user or browser login that requested the bond. Other users cannot use it. */
  readonly owner: string
  readonly completion_secret: Secret
  /** The digest of the session's context, or null without one. */
  readonly context_digest: string | null
  /** The user whose phone must approve, if known. */
  readonly subject_ref: string | null
  readonly created_at: string
  /**
   * The value from create. A bond extends the session, so read its current expiry from the service.
   */
  readonly expires_at: string
  /** Null until an action used the bond. */
  readonly used_at: string | null
}

/** The row to use, its owner, and the time. */
export interface PendingUse {
  readonly session_id: string
  readonly owner: string
  readonly used_at: string
}

/**
 * The service extends a session by at most 15 minutes and repeats a completion for one hour. A row
 * is useless after that.
 */
export const ROW_KEPT_AFTER_EXPIRY_MS = 2 * 60 * 60 * 1000

/**
 * The gate's storage. `Tx` is your database's transaction, which your action receives unchanged.
 * Every store passes `pendingStoreSuite`.
 *
 * @example
 * // A SQL adapter's `use` is one guarded statement; the row that it changes is the proof:
 * // update bond set used_at = $3 where session_id = $1 and owner = $2 and used_at is null
 */
export interface PendingStore<Tx = unknown> {
  /**
   * Durable when it resolves. Putting the same session again changes nothing, so it never undoes a
   * use.
   */
  put(row: PendingRow): Promise<void>
  /** The committed row, or undefined. Read where you write: a replica can be late. */
  find(session_id: string): Promise<PendingRow | undefined>
  /**
   * Runs `work` in one transaction: committed and durable when the promise resolves, without a
   * trace when `work` rejects. The database's answer to the commit decides: PostgreSQL answers
   * `ROLLBACK` and reports no error. The store runs `work` again only if its `use` lost against
   * another transaction: the use comes first, so nothing of the action has run. Work
   * that waits delays no other row.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Marks an unused row as used, inside `tx`. At most one of any number of concurrent calls gets
   * true and commits; the others wait for its end or get false at once. An unknown row or another
   * owner also gets false. When `tx` rolls back, the row is unused again.
   */
  use(use: PendingUse, tx: Tx): Promise<boolean>
  /**
   * Deletes the rows that expired before this time and returns their number. Call it periodically.
   */
  removeExpired(before: string): Promise<number>
}
