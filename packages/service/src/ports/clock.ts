/** Time, from one place. Tests move it. */
export interface Clock {
  /** Milliseconds since the epoch, UTC. */
  now(): number
  /** Calls back once, when `now()` has reached `at`. Never synchronously. Does not keep the process alive. */
  schedule(at: number, callback: () => void): Cancel
}

/** Stops what was scheduled. Calling it twice, or late, does nothing. */
export type Cancel = () => void
