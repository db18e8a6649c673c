/** The source of time. Tests advance it. */
export interface Clock {
  /** Milliseconds since the epoch, UTC. */
  now(): number
  /** Milliseconds since some moment, by a clock that is never set. */
  elapsed(): number
  /**
   * Calls back once, when `now()` has reached `at`. Never synchronous. Does not keep the process
   * alive.
   */
  schedule(at: number, callback: () => void): Cancel
}

/** Cancels a scheduled call. A repeated or late cancel does nothing. */
export type Cancel = () => void
