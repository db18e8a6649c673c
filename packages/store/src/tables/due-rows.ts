import { READABLE_AFTER_END_MS } from '@bonded/core/domain/lifetimes'
import type { Due, PurgedKind, RetentionKind } from '@bonded/core/domain/retention'
import type { Work } from '@bonded/core/ports/work'
import type { Dialect } from '../dialect.ts'
import { changed, type Row, rows, sent, type SqlValue } from '../statement.ts'

const DAY_MS = 24 * 60 * 60_000

/** The rows of a table that a retention ends. */
interface Doomed {
  readonly table: string
  /** The time from which a row is retained. An index begins with the tenant and this column. */
  readonly since: string
  /** A further condition. */
  readonly only?: string
  /** Nodes have no right to lock the rows. Two that delete one wait for each other. */
  readonly isUnlocked?: true
}

const DOOMED: { readonly [Kind in RetentionKind]: Doomed } = {
  sessions: {
    table: 'session',
    since: 'ended_at',
    // A session of a quorum can be read for as long as the others.
    only: `ended_at is not null and (r.quorum_id is null
      or r.created_at + session_ttl_ms + bonded_ttl_ms + ${READABLE_AFTER_END_MS} <= $1)`,
  },
  deliveries: { table: 'webhook_delivery', since: 'created_at' },
  receipts: { table: 'receipt', since: 'made_at', only: 'log_index is not null' },
  reasons: { table: 'rejection', since: 'at', isUnlocked: true },
  audit: { table: 'audit_entry', since: 'at', only: 'content_hash is null', isUnlocked: true },
}

type DueDialect = Pick<Dialect, 'isRemote' | 'daysOf' | 'forWork' | 'rowId'>

/** Deletes the rows that are due. @returns how many */
export function* purgeDue(dialect: DueDialect, kind: PurgedKind, due: Due): Work<number> {
  const { table, since } = DOOMED[kind]
  const { rowId } = dialect
  if (!dialect.isRemote) {
    const text = `delete from ${table} where ${rowId} in (${dueQuery(dialect, kind, [rowId])})`
    return yield* changed(text, valuesOf(due))
  }
  const found = yield* dueRows(dialect, { kind, columns: [rowId, since], due })
  // One at a time: until PostgreSQL has analyzed a table, it reads all of it to find several. The
  // time is compared because another row may have taken the place of one that is gone.
  for (const each of found)
    yield* sent(`delete from ${table} where ${rowId} = $1 and ${since} = $2`, [
      each[rowId] as SqlValue,
      each[since] as SqlValue,
    ])
  return found.length
}

/** These columns of the oldest rows of each tenant whose retention has ended. */
export function* dueRows(
  dialect: DueDialect,
  { kind, columns, due }: { kind: RetentionKind; columns: readonly string[]; due: Due },
): Work<readonly Row[]> {
  return yield* rows(dueQuery(dialect, kind, columns), valuesOf(due))
}

function dueQuery(dialect: DueDialect, kind: RetentionKind, columns: readonly string[]): string {
  const { table, since, only = '1 = 1', isUnlocked } = DOOMED[kind]
  const days = dialect.daysOf(kind)
  const own = `case when ${days} < $3 then $3 when ${days} > $4 then $4 else ${days} end`
  const list = columns.map((column) => `r.${column}`).join(', ')
  const due = `r.tenant_id = tenant.id and ${only}
    and r.${since} between 0 and $1 - coalesce(${DAY_MS} * ${own}, $2)`
  // Both read the index of each tenant up to the end of its period, and nothing after it.
  return dialect.isRemote
    ? `select ${list} from tenant cross join lateral (
         select ${list} from ${table} r where ${due} order by r.${since} limit $5
         ${isUnlocked ? '' : dialect.forWork}
       ) r limit $5`
    : `select ${list} from tenant cross join ${table} r where ${due} limit $5`
}

function valuesOf({ now, usualMs, min, max, limit }: Due): readonly SqlValue[] {
  return [now, usualMs, min, max, limit]
}
