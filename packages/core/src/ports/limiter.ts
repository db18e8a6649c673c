import type { Spending } from '../domain/gcra.ts'
import type { CountedLimit } from '../domain/limits.ts'

/** The state of the tightest bucket after a take. */
export type Taken = Pick<Spending, 'granted' | 'remaining' | 'waitMs'>

/** One bucket that a call takes one unit from. */
export interface Take {
  readonly limit: CountedLimit
  /** Each key has its own bucket in each limit. A bucket that is not known is full. */
  readonly key: string
  /** How many units must remain in the bucket for other callers. Absent: none. */
  readonly keep?: number
}

/** Counts calls in buckets, without waiting: a promise would cost a turn of each request. */
export interface Limiter {
  /**
   * Takes one unit from every bucket, or from none where one of them rejects. Concurrent calls
   * are never granted more units than there are. Counters need not outlive the process: after a
   * restart every bucket is full.
   *
   * @returns the bucket with the longest wait of those that reject; where all grant, the one with
   *   the fewest units left
   */
  take(takes: readonly Take[]): Taken
  /**
   * What `take` would return now, without taking: for limits that count only what a call turns out
   * to be. Concurrent calls can all be granted the last unit, so a few more than the quota can
   * pass.
   */
  peek(takes: readonly Take[]): Taken
}
