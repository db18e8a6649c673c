import type { Instant } from '../../domain/session.ts'
import { DAY_MS, HOUR_MS, sumOf, type Totals, type TotalsRow } from '../../domain/totals.ts'
import type { TotalsQuery } from '../../ports/tables/total-table.ts'
import type { Service } from '../service.ts'

/** Totals of sessions, and of all of them together. */
export interface TotalsReport {
  readonly rows: readonly TotalsRow[]
  readonly sum: Totals
  readonly asOf: Instant
}

/**
 * How many sessions were created, and how they ended. A session counts in the hour of its creation
 * as created, and in the hour of its end as everything else. No data of a user is read.
 *
 * @param query.since rounded down to its hour, or to its day where days are listed
 */
export function reportTotals(
  service: Service,
  query: Omit<TotalsQuery, 'until'> & { readonly until?: Instant | undefined },
): Promise<TotalsReport> {
  const now = service.clock.now()
  const unitMs = query.by === 'day' ? DAY_MS : HOUR_MS
  const wanted = {
    ...query,
    since: query.since - (query.since % unitMs),
    until: query.until ?? now + 1,
  }
  return service.store.read(function* ({ totals }) {
    const rows = yield* totals.list(wanted, now)
    const isAll = !wanted.skip && rows.length < wanted.limit
    return { rows, sum: isAll ? sumOf(rows) : yield* totals.sum(wanted, now), asOf: now }
  })
}
