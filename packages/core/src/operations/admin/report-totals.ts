import type { Instant } from '../../domain/session.ts'
import { DAY_MS, HOUR_MS, sumOf, type Totals, type TotalsRow } from '../../domain/totals.ts'
import type { TotalsQuery } from '../../ports/tables/total-table.ts'
import type { Service } from '../service.ts'

/** Totals of sessions, and of all of them together. */
export interface TotalsReport {
  readonly rows: readonly TotalsRow[]
  /** Of all rows, also of those beyond the limit unless the query is of a ranking. */
  readonly sum: Totals
  readonly asOf: Instant
}

/**
 * How many sessions were created, and how they ended. A session counts in the hour of its creation
 * as created, and in the hour of its end as everything else. No data of a user is read.
 *
 * @param given.since rounded down to its hour, or to its day where days are listed
 * @param given.isRanking whether only the first rows matter, so that no others are read for the sum
 */
export function reportTotals(
  service: Service,
  given: Omit<TotalsQuery, 'until'> & {
    readonly until?: Instant | undefined
    readonly isRanking?: boolean
  },
): Promise<TotalsReport> {
  const { isRanking = false, ...query } = given
  const now = service.clock.now()
  const unitMs = query.by === 'day' ? DAY_MS : HOUR_MS
  const wanted = {
    ...query,
    since: query.since - (query.since % unitMs),
    until: query.until ?? now + 1,
  }
  return service.store.read(function* ({ totals }) {
    const rows = yield* totals.list(wanted, now)
    const isAll = isRanking || (!wanted.skip && rows.length < wanted.limit)
    return { rows, sum: isAll ? sumOf(rows) : yield* totals.sum(wanted, now), asOf: now }
  })
}
