/**
 * `waiting`: for the phone, or approved and not executed. `withdrawn`: it can run no more.
 * `running`: `run` was called, and its end is not stored yet. `unknown`: `run` threw, so what it
 * did is unknown. `done`: the action has happened. `completed`: the phone shows it.
 * `reported_late`: its session had expired before, and the service has kept the report.
 * `unreported`: the service has no such session any more, or it was ended. `failed`: your
 * reconciliation says that it cannot happen any more.
 */
export type ApprovalState =
  | 'waiting'
  | 'withdrawn'
  | 'running'
  | 'unknown'
  | 'done'
  | 'completed'
  | 'reported_late'
  | 'unreported'
  | 'failed'

/** The states that `reconcile` looks at. A store never removes a row in one of them. */
export const UNFINISHED: readonly ApprovalState[] = ['running', 'unknown', 'done']

/** A request as a store has it. Times are in milliseconds since the epoch. */
export interface StoredApproval {
  readonly id: string
  /** What never changes, as JSON. It contains a secret of the session. */
  readonly data: string
  /** A digest of the user, the action, and its arguments. Other requests can have the same one. */
  readonly lookup: string
  readonly state: ApprovalState
  /** When the state changed, or the lease of a running action was renewed. */
  readonly changed_at: number
  readonly expires_at: number
}

/**
 * The storage of approvals. An approval runs at most once because `move` changes a row at most
 * once, durably. Every store passes `approvalStoreSuite`.
 */
export interface ApprovalStore {
  /** Durable when it resolves. Putting the same id again changes nothing. */
  put(row: StoredApproval): Promise<void>
  /** The committed row, or undefined. Read where you write: a replica can be late. */
  find(id: string): Promise<StoredApproval | undefined>
  /** The committed rows with this lookup. The one that expires last comes first. */
  withLookup(lookup: string): Promise<readonly StoredApproval[]>
  /**
   * Changes the state of a row that is in `from`, and stores `at` as `changed_at`, in a transaction
   * of its own. Exactly one of any number of concurrent calls gets true, unless `to` is `from`,
   * which renews a lease. When it resolves, the change survives a crash of the process, the
   * database and the machine.
   */
  move(id: string, from: ApprovalState, to: ApprovalState, at: number): Promise<boolean>
  /** The rows in a state of {@link UNFINISHED}. */
  unfinished(): Promise<readonly StoredApproval[]>
  /** Deletes the row, but no unfinished one. */
  remove(id: string): Promise<void>
  /** Deletes the rows that expired before this time, but no unfinished one. Returns how many. */
  removeExpired(before: number): Promise<number>
}
