import type { Spending } from '../domain/gcra.ts'
import type { Limit } from '../domain/limits.ts'

/** How a bucket stands after somebody took from it, or tried to. */
export type Taken = Pick<Spending, 'granted' | 'remaining' | 'waitMs'>

/**
 * Counts calls, by what they are counted by. A key has a bucket of its own in each limit; one not heard of is full.
 */
export interface Limiter {
  /**
   * Takes one from the key's bucket, if there is one. Of calls at the same time no more are granted than there are.
   * A refused call takes nothing. What is counted need not outlive the process: a restart fills every bucket.
   *
   * A limiter that need not wait answers at once, without a promise.
   */
  take(limit: Limit, key: string): Taken | Promise<Taken>
}
