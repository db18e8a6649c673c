/** The result of one unit of maintenance. */
export interface Batch {
  /** How many rows it processed. */
  readonly done: number
  /** Whether more may remain. */
  readonly more: boolean
  /** Whether the next round may wait longer than usual, because this one was not needed. */
  readonly quiet?: boolean
  /** What failed beside it. The next round tries it again. */
  readonly failures?: readonly unknown[]
}

/**
 * Sessions per unit: few enough that concurrent calls, which share the commit, are not delayed
 * noticeably.
 */
export const BATCH_SESSIONS = 50
