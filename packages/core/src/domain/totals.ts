import type { TenantId } from '@bonded/contract'
import type { Instant } from './session.ts'

/**
 * The upper ends of the buckets of latencies, in seconds; the last bucket has no end. They double,
 * because approvals on the phone next to the page and in an inbox differ by a factor of thousands.
 */
export const LATENCY_BOUNDS_S = [5, 10, 20, 40, 80, 160, 320] as const

/** A year, and the month before it, with which its first month is compared. */
export const TOTALS_RETENTION_MS = 400 * 24 * 60 * 60_000

/**
 * How long after its time a session is counted. The commit of a change comes after its time, and
 * the clocks of nodes differ by at most a second.
 */
export const TOTALS_DELAY_MS = 60_000

export const HOUR_MS = 60 * 60_000
export const DAY_MS = 24 * HOUR_MS

/**
 * What is counted of sessions. One that ended was approved, declined, reported, expired, or
 * stopped, and only one of these.
 */
export const COUNTS = [
  'created',
  /** Of those created: for the inbox of a user. */
  'inbox',
  'approved',
  /** Of those approved: completed by the backend. */
  'completed',
  'declined',
  /** Declined as a request that the user did not expect. */
  'reported',
  /** Ended by their time, without an approval. */
  'expired',
  /** Ended by the backend, by the operator, or by failed checks, without an approval. */
  'stopped',
  /** Of those that ended: had a step-up. */
  'stepUps',
  /** Of those approved: the browser proved itself. */
  'browserProofs',
  /** The rejected calls about those that ended. */
  'rejections',
  /** From creation to approval, the sum of those approved. */
  'latencyMs',
] as const

export interface Totals extends Readonly<Record<(typeof COUNTS)[number], number>> {
  /** How many of those approved are in each bucket of `LATENCY_BOUNDS_S`. */
  readonly latencies: readonly number[]
}

/** The totals of a time, or of a workflow. */
export interface TotalsRow extends Totals {
  /** When the time begins; null for a workflow. */
  readonly from: Instant | null
  readonly tenantId: TenantId | null
  readonly workflow: string | null
}

/** How totals are grouped: by hour, by day of UTC, or by tenant and workflow. */
export const TOTALS_GROUPINGS = ['hour', 'day', 'workflow'] as const
export type TotalsGrouping = (typeof TOTALS_GROUPINGS)[number]

/** The sum of several totals. */
export function sumOf(all: readonly Totals[]): Totals {
  const sum = (pick: (totals: Totals) => number) =>
    all.reduce((total, each) => total + pick(each), 0)
  const counts = COUNTS.map((name) => [name, sum((each) => each[name])])
  const latencies = [...LATENCY_BOUNDS_S, 0].map((_, index) =>
    sum((each) => each.latencies[index] ?? 0),
  )
  return { ...(Object.fromEntries(counts) as Totals), latencies }
}

/** How many of the sessions ended. */
export function endedOf(
  totals: Pick<Totals, 'approved' | 'declined' | 'reported' | 'expired' | 'stopped'>,
): number {
  const { approved, declined, reported, expired, stopped } = totals
  return approved + declined + reported + expired + stopped
}

/**
 * The median from creation to approval in seconds, estimated within its bucket. Undefined without
 * an approval, and Infinity in the bucket without an end.
 */
export function medianLatencyS(latencies: Totals['latencies']): number | undefined {
  const half = latencies.reduce((sum, count) => sum + count, 0) / 2
  if (half === 0) return undefined
  let below = 0
  for (const [index, count] of latencies.entries()) {
    if (below + count >= half) {
      const from = LATENCY_BOUNDS_S[index - 1] ?? 0
      const to = LATENCY_BOUNDS_S[index] ?? Number.POSITIVE_INFINITY
      return from + ((to - from) * (half - below)) / count
    }
    below += count
  }
  return undefined
}
