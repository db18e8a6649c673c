import type { Cause, Unit } from '@bonded/core/ports/store'
import { classify } from './postgres-errors.ts'

/** How often a unit runs alone. */
export const MAX_RUNS = 6

/** A unit that waits for its transaction. */
export interface PendingWrite {
  readonly unit: Unit<unknown>
  readonly cause: Cause | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (failure: unknown) => void
  /** Until when the call may wait for locks, in all of its runs, by `performance.now`. */
  readonly lockUntil: number
  /** Whether it has relied on a change that did not happen, and now waits for each result. */
  isCareful: boolean
  /** Whether a connection was lost before its commit was sent. */
  hasLostConnection: boolean
}

/**
 * The rule for a unit that has failed alone by SQL. A conflict with another unit repeats it while
 * its call may wait. A connection that was lost before the commit has changed nothing, so the unit
 * runs once more.
 */
export function mayRunAgain(pending: PendingWrite, failure: unknown, runs: number): boolean {
  const { kind } = classify(failure)
  if (kind === 'conflict') return runs < MAX_RUNS && performance.now() < pending.lockUntil
  if (kind !== 'lost' || pending.hasLostConnection) return false
  pending.hasLostConnection = true
  return true
}
