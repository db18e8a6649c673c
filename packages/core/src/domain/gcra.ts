import type { Limit } from './limits.ts'

/** The result of taking one unit from a bucket. */
export interface Spending {
  readonly granted: boolean
  /** How many more units this caller can take now. */
  readonly remaining: number
  /** Milliseconds until the caller can take one more than `remaining`. */
  readonly waitMs: number
  /** The complete state of a bucket: when it is full again, in microseconds since the epoch. */
  readonly fullAtUs: number
}

/** What a caller takes one unit from. */
export interface Bucket {
  readonly limit: Pick<Limit, 'burst' | 'intervalUs'>
  /**
   * The state after the previous take. For an unknown bucket, use a time in the past, such as 0.
   */
  readonly fullAtUs: number
  /** How many units this caller must leave in the bucket for other callers. */
  readonly keep: number
  /**
   * The largest debt, in buckets. More than one where several nodes grant from the bucket before
   * they know of each other: what they granted beyond it is paid back. Default: 1.
   */
  readonly maxDebt?: number
}

/**
 * Takes one unit from a bucket (the generic cell rate algorithm). Over any time t it grants no
 * more than burst + t / interval units, and rejects none below that. A rejection takes nothing.
 */
export function spend({ limit, fullAtUs, keep, maxDebt = 1 }: Bucket, nowUs: number): Spending {
  const { burst, intervalUs } = limit
  const wholeUs = burst * intervalUs
  const spendableUs = wholeUs - keep * intervalUs
  // If the clock was set back or the limit was larger, the debt can exceed the bucket. Cap it.
  const before = Math.min(Math.max(0, fullAtUs - nowUs), wholeUs * maxDebt)
  const granted = before + intervalUs <= spendableUs
  const debtUs = granted ? before + intervalUs : before
  const remaining = Math.max(0, Math.floor((spendableUs - debtUs) / intervalUs))
  const waitUs = debtUs - spendableUs + (remaining + 1) * intervalUs
  return { granted, remaining, waitMs: waitUs / 1_000, fullAtUs: nowUs + debtUs }
}
