import type { TenantId } from '@bonded/contract'
import type { Instant } from '../../domain/session.ts'
import type { Totals, TotalsGrouping, TotalsRow } from '../../domain/totals.ts'
import type { Work } from '../work.ts'

/** Which totals to read. */
export interface TotalsQuery {
  readonly tenantId?: TenantId | undefined
  readonly workflow?: string | undefined
  readonly since: Instant
  /** Only what was before it. */
  readonly until: Instant
  readonly by: TotalsGrouping
  readonly limit: number
  /** How many rows the pages before had. */
  readonly skip?: number | undefined
}

/** The totals of each hour, tenant and workflow. They have no data of a user. */
export interface TotalTable {
  /**
   * Adds the next sessions that were created or have ended before a time. Each is counted once,
   * however many nodes do so at once, in the same transaction that notes how far they have come.
   *
   * @param limit how many at most, unless more have one millisecond
   * @returns whether others remain
   */
  count(before: Instant, limit: number): Work<boolean>
  /**
   * The totals, with the sessions that are not counted yet as they are at `now`. By time newest
   * first, by workflow those first of which the most ended without an approval.
   */
  list(query: TotalsQuery, now: Instant): Work<readonly TotalsRow[]>
  /** The totals of all rows that `list` has, on whatever page. */
  sum(query: TotalsQuery, now: Instant): Work<Totals>
  /** Deletes totals of hours before a time. @returns how many */
  purge(before: Instant, limit: number): Work<number>
}
