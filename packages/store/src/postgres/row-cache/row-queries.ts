import type { SqlValue } from '../../statement.ts'
import type { BatchStatement } from '../server/batch.ts'
import { KINDS, type RowKind } from './row-kinds.ts'
import type { RowKey } from './row-cache.ts'

/** A row to look up or to check, and its cached version, if any. */
export interface WantedRow {
  readonly key: RowKey
  readonly version: string | null
}

/** When the server's process has started. */
const SERVER = 'pg_postmaster_start_time()::text'

/** The wanted rows of one kind, as arrays in the order of the statement's values. */
interface Group {
  readonly kind: RowKind<unknown>
  readonly wanted: WantedRow[]
}

/** The kinds in the order in which `readRows` returns. */
export function groupsOf(wanted: Iterable<WantedRow>): readonly Group[] {
  const groups = new Map<string, Group>()
  for (const each of wanted) {
    const { kind } = each.key
    const group = groups.get(kind.name)
    if (group === undefined) groups.set(kind.name, { kind, wanted: [each] })
    else group.wanted.push(each)
  }
  // One text for each set of kinds.
  return ORDER.flatMap((name) => groups.get(name) ?? [])
}

const ORDER = Object.values(KINDS).map(({ name }) => name)

/**
 * Reads rows of several kinds in one snapshot. Each row is the group, the place in the group
 * from 1, the version, and the row unless the cached one is current. A first row names the server.
 *
 * `limit 1` keeps the lookup of each key apart. PostgreSQL would otherwise join the keys with all
 * rows of a table that it has not analyzed yet.
 */
export function readRows(groups: readonly Group[]): BatchStatement {
  const values: SqlValue[] = []
  const branches = groups.map((group, at) => {
    const { from, version, json } = group.kind
    return `select ${at}, k.n, r.version,
      case when r.version = k.version then null else r.json::text end
      from ${keysOf(group, values)}
      left join lateral (select ${version} as version, ${json} as json from ${from} limit 1) r on true`
  })
  return { text: [`select -1, 0, ${SERVER}, null`, ...branches].join(' union all '), values }
}

/**
 * Locks the sessions among the rows and fails unless the database has exactly these versions of all
 * rows. Returns the number of the transaction, which is the version of each row that it writes.
 *
 * `nowait`, because time that passes while a row is locked could end the session.
 */
export function checkRows(groups: readonly Group[], server: string): BatchStatement {
  const values: SqlValue[] = [server]
  let locked = ''
  const branches = groups.map((group) => {
    const keys = keysOf(group, values)
    const { kind } = group
    let found = `(select ${kind.version} as version from ${kind.from} limit 1)`
    if (kind.name === KINDS.session.name) {
      const first = values.length - 1
      locked = `with locked as materialized (select r.* from unnest(${given(first, 'bigint')}) k (p1)
        cross join lateral (select r.session_key, ${kind.version} as version from ${kind.from}
          limit 1 for no key update nowait) r)`
      found = '(select l.version from locked l where l.session_key = k.p1)'
    }
    return `select 1 from ${keys} left join lateral ${found} r on true
      where r.version is distinct from k.version`
  })
  const changed = branches.length === 0 ? '' : `exists (${branches.join(' union all ')}) or `
  return {
    text: `${locked} select pg_current_xact_id()::xid::text,
      1 / (case when ${changed}${SERVER} <> $1::text then 0 else 1 end)`,
    values,
  }
}

/** Takes the locks of subjects until the end of the transaction, or fails if one is not free. */
export function lockSubjects(subjectIds: Iterable<string>): BatchStatement {
  return {
    text: `select 1 / min(case when pg_try_advisory_xact_lock(hashtextextended(s, 0))
      then 1 else 0 end) from unnest($1::text[]) s`,
    values: [array(subjectIds)],
  }
}

/**
 * Fails unless the statement changes exactly one row, at once: the unit has read the time before a
 * wait for the row.
 */
export function exactlyOnce({ text, values }: BatchStatement): BatchStatement {
  return {
    text: `with changed as (${text} returning 1) select 1 / count(*) from changed
      where clock_timestamp() < transaction_timestamp() + interval '250 milliseconds'`,
    values,
  }
}

/** Adds the values of the keys, and returns them as a table. */
function keysOf({ kind, wanted }: Group, values: SqlValue[]): string {
  const arrays = kind.types.map((type, part) => {
    values.push(array(wanted.map(({ key }) => key.parts[part] as string | number)))
    return given(values.length, type)
  })
  values.push(array(wanted.map(({ version }) => version)))
  arrays.push(given(values.length, 'text'))
  const columns = kind.types.map((_, part) => `p${part + 1}`).join(', ')
  return `unnest(${arrays.join(', ')}) with ordinality as k (${columns}, version, n)`
}

/**
 * A value as an array. In a subquery, because PostgreSQL would otherwise plan each execution anew
 * for the length of its arrays, which costs more than the execution.
 */
function given(place: number, type: string): string {
  return `(select $${place}::${type}[])`
}

/** An array in PostgreSQL's own spelling. */
function array(values: Iterable<string | number | null>): string {
  let text = ''
  for (const value of values) {
    if (text !== '') text += ','
    if (value === null) text += 'null'
    else if (typeof value === 'number') text += String(value)
    else text += /^\w+$/.test(value) && !/^null$/i.test(value) ? value : quoted(value)
  }
  return `{${text}}`
}

function quoted(value: string): string {
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`
}
