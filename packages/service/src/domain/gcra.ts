import type { Limit } from './limits.ts'

/** Whether one was taken from a bucket, and how the bucket stands after it. */
export interface Spending {
  readonly granted: boolean
  /** How many more could be taken now. */
  readonly remaining: number
  /** Until there is one more than that. */
  readonly waitMs: number
  /** All that a bucket has to remember: when it will be full again. */
  readonly fullAtUs: number
}

/**
 * Takes one from a bucket (the generic cell rate algorithm). Over any time t no more than burst + t / interval are
 * granted, and none is refused below that. A refusal takes nothing.
 *
 * @param fullAtUs as the last spending left it; anything in the past, such as 0, for a bucket not known
 */
export function spend(fullAtUs: number, { burst, intervalUs }: Limit, nowUs: number): Spending {
  const wholeUs = burst * intervalUs
  // No bucket can be emptier than empty: more is left from a clock set back, or from a limit that was larger.
  const before = Math.min(Math.max(0, fullAtUs - nowUs), wholeUs)
  const granted = before + intervalUs <= wholeUs
  const debtUs = granted ? before + intervalUs : before
  const remaining = Math.floor((wholeUs - debtUs) / intervalUs)
  const waitUs = debtUs - wholeUs + (remaining + 1) * intervalUs
  return { granted, remaining, waitMs: waitUs / 1_000, fullAtUs: nowUs + debtUs }
}
