import type { Cause, Unit } from '@bonded/core/ports/store'
import { classify } from './postgres-errors.ts'
import type { FoundRows } from './row-cache/row-lookups.ts'

/**
 * How often a unit runs on the cached rows, and then by SQL. It counts each run that had to be
 * repeated, whatever the reason: a missing row, an outdated row, or a lost conflict.
 */
export const MAX_RUNS = 6

/** A unit that waits for its transaction. */
export interface PendingWrite {
  readonly unit: Unit<unknown>
  readonly cause: Cause | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (failure: unknown) => void
  /** Until when the call may wait for locks, in all of its runs, by `performance.now`. */
  readonly lockUntil: number
  /** The rows that were read for it from the database. */
  foundRows: FoundRows
  /** How often it has run on the cached rows. */
  runs: number
  /** Whether it has failed together with others, and now runs alone. */
  isAlone: boolean
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
