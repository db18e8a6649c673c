/** What one unit of background work did. */
export interface Batch {
  /** How many sessions it dealt with. */
  readonly done: number
  /** Whether there may be more of the same. */
  readonly more: boolean
}

/** Sessions a unit: few enough that the calls of the same turn, which wait for its commit, do not notice. */
export const BATCH_SESSIONS = 50
