import type { Due, RetentionKind } from '@bonded/core/domain/retention'
import type { Work } from '@bonded/core/ports/work'
import type { Dialect } from '../dialect.ts'
import { type Row, rows, sent, type SqlValue } from '../statement.ts'

const DAY_MS = 24 * 60 * 60_000

/** Rows of a table that a purge deletes. */
interface Doomed {
  readonly table: string
  readonly kind: RetentionKind
  /** The time from which a row is retained. An index begins with the tenant and this column. */
  readonly since: string
  /** The columns to return. */
  readonly columns: readonly string[]
  /** A further condition. */
  readonly only?: string
}

/** The oldest rows of each tenant whose retention has ended. */
export function* dueRows(
  dialect: Pick<Dialect, 'isRemote' | 'daysOf' | 'forWork'>,
  { table, kind, since, columns, only = '1 = 1' }: Doomed,
  { now, usualMs, min, max, limit }: Due & { readonly limit: number },
): Work<readonly Row[]> {
  const days = dialect.daysOf(kind)
  const own = `case when ${days} < $3 then $3 when ${days} > $4 then $4 else ${days} end`
  const list = columns.map((column) => `r.${column}`).join(', ')
  const due = `r.tenant_id = tenant.id and ${only}
    and r.${since} between 0 and $1 - coalesce(${DAY_MS} * ${own}, $2)`
  // Both read the index of each tenant up to the end of its period, and nothing after it.
  const text = dialect.isRemote
    ? `select ${list} from tenant cross join lateral (
         select ${list} from ${table} r where ${due} order by r.${since} limit $5 ${dialect.forWork}
       ) r limit $5`
    : `select ${list}
       from tenant cross join ${table} r where ${due} limit $5`
  return yield* rows(text, [now, usualMs, min, max, limit])
}

/** Deletes the rows that are due. `columns` is the key of the table. @returns how many */
export function* purgeDue(
  dialect: Pick<Dialect, 'isRemote' | 'daysOf' | 'forWork'>,
  doomed: Doomed,
  due: Due & { readonly limit: number },
): Work<number> {
  const found = yield* dueRows(dialect, doomed, due)
  const key = doomed.columns.map((column, index) => `${column} = $${index + 1}`).join(' and ')
  // One at a time: until PostgreSQL has analyzed a table, it reads all of it to find several.
  for (const each of found)
    yield* sent(
      `delete from ${doomed.table} where ${key}`,
      doomed.columns.map((column) => each[column] as SqlValue),
    )
  return found.length
}
