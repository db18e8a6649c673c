/** The result of one unit of maintenance. */
export interface Batch {
  /** How many rows it processed. */
  readonly done: number
  /** Whether more may remain. */
  readonly more: boolean
}

/**
 * Sessions per unit: few enough that concurrent calls, which share the commit, are not delayed
 * noticeably.
 */
export const BATCH_SESSIONS = 50
