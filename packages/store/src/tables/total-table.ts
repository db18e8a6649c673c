import type { TenantId } from '@bonded/contract'
import {
  COUNTS,
  DAY_MS,
  HOUR_MS,
  LATENCY_BOUNDS_S,
  type Totals,
  TOTALS_DELAY_MS,
  type TotalsGrouping,
} from '@bonded/core/domain/totals'
import type { Instant } from '@bonded/core/domain/session'
import type { TotalsQuery, TotalTable } from '@bonded/core/ports/tables/total-table'
import type { Work } from '@bonded/core/ports/work'
import { MOVES } from '@bonded/core/protocol/states'
import type { Dialect } from '../dialect.ts'
import { changed, type Row, row, rows, sent, type SqlValue } from '../statement.ts'
import { firstKeyAt } from './session-keys.ts'

const isTrue = (condition: string) => `case when ${condition} then 1 else 0 end`
const endedBy = ({ endedReason }: { readonly endedReason: string }) =>
  `ended_reason = '${endedReason}'`
/** No `exists`: PostgreSQL would read the events of all sessions for it at once. */
const events = (condition: string) =>
  `(select count(*) from session_event e where e.session_key = s.session_key and ${condition})`
const LATENCY = 's.bonded_at - s.created_at'
const LATENCY_COLUMNS = [...LATENCY_BOUNDS_S, 'more'].map((_, index) => `latency_${index}`)

function inBucket(index: number): string {
  const to = LATENCY_BOUNDS_S[index]
  const from = `${LATENCY} >= ${1_000 * (LATENCY_BOUNDS_S[index - 1] ?? 0)}`
  return to === undefined ? from : `${from} and ${LATENCY} < ${1_000 * to}`
}

/** What a session that was created adds to each column. */
const CREATED: Readonly<Record<string, string>> = {
  created: '1',
  inbox: isTrue('inbox_subject_id is not null'),
}

/** What a session that has ended adds. */
const ENDED: Readonly<Record<string, string>> = {
  approved: isTrue('bonded_at is not null'),
  completed: isTrue(`state = '${MOVES.complete.to}'`),
  declined: isTrue(endedBy(MOVES.decline)),
  reported: isTrue(endedBy(MOVES.declineUnexpected)),
  expired: isTrue('bonded_at is null and ended_reason is null'),
  stopped: isTrue(
    `bonded_at is null and not (${endedBy(MOVES.decline)} or ${endedBy(MOVES.declineUnexpected)})`,
  ),
  stepUps: isTrue(`${events(`e.kind = '${MOVES.stepUp.to}' and e.hint = 'step_up'`)} > 0`),
  browserProofs: isTrue('bonded_at is not null and browser_proof is not null'),
  rejections: events(`e.kind = 'refused'`),
  latencyMs: `coalesce(${LATENCY}, 0)`,
  ...Object.fromEntries(LATENCY_COLUMNS.map((column, index) => [column, isTrue(inBucket(index))])),
}
/** The columns of a total, and what a session of each source adds to them. */
const COLUMNS = [...COUNTS, ...LATENCY_COLUMNS].map((name) => ({
  name: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  created: CREATED[name] ?? '0',
  ended: ENDED[name] ?? '0',
}))
const NAMES = COLUMNS.map(({ name }) => name).join(', ')
const SUMS = COLUMNS.map(({ name }) => `sum(${name}) as ${name}`).join(', ')
const KEY = 'tenant_id, workflow, hour'
/** Adds what a query counts to the rows of each workflow, and to the row of all of them. */
const ADD = `with part as materialized (select ${KEY}, ${SUMS} from (`
const INTO_ROWS = `) counted group by ${KEY})
  insert into session_total (${KEY}, ${NAMES})
  select ${KEY}, ${NAMES} from part
  union all select '', '', hour, ${SUMS} from part where true group by hour
  on conflict (${KEY}) do update set
  ${COLUMNS.map(({ name }) => `${name} = session_total.${name} + excluded.${name}`).join(', ')}`

interface Grouping {
  /** The columns that a group has. */
  readonly key: string
  readonly group: string
  readonly order: string
}
const GROUPINGS: { readonly [By in TotalsGrouping]: Grouping } = {
  hour: { key: 'hour as begins', group: 'hour', order: 'hour desc' },
  day: { key: `hour - hour % ${DAY_MS} as begins`, group: 'begins', order: 'begins desc' },
  workflow: {
    key: 'tenant_id, workflow',
    group: 'tenant_id, workflow',
    order: `sum(total.declined + total.reported + total.expired + total.stopped) desc,
      tenant_id, workflow`,
  },
}

/**
 * The sessions of a time: those created, those whose end is stored, and those that have expired.
 * Their indexes find each. `limit` keeps PostgreSQL from reading the table for all tenants at once.
 *
 * @param owners the tenants whose ended sessions are found
 */
function sourcesOf({ isRemote }: Pick<Dialect, 'isRemote'>, owners = 'tenant') {
  const ended = `ended_at is not null and ended_at between $1 and $2`
  return {
    created: 'session s where session_key between $3 and $4',
    ended: isRemote
      ? `${owners} cross join lateral (select * from session
           where tenant_id = tenant.id and ${ended} limit ${Number.MAX_SAFE_INTEGER}) s where true`
      : `${owners} cross join session s where tenant_id = tenant.id and ${ended}`,
    expired: 'session s where ended_at is null and expires_at between $1 and $2',
  }
}

/** The values of these sources: the times from `from` and before `to`. */
const rangeValues = (from: Instant, to: Instant) => [
  from,
  to - 1,
  firstKeyAt(from),
  firstKeyAt(to) - 1,
]

/** What the sessions of a source add to the hour of one of their times. */
function rowsOf(source: string, at: string, adds: 'created' | 'ended'): string {
  return `select s.tenant_id, s.workflow, s.${at} - s.${at} % ${HOUR_MS} as hour,
     ${COLUMNS.map((column) => `${column[adds]} as ${column.name}`).join(', ')} from ${source}`
}

/** What all sources add. */
function countedOf({ created, ended, expired }: ReturnType<typeof sourcesOf>): string {
  return [
    rowsOf(created, 'created_at', 'created'),
    rowsOf(ended, 'ended_at', 'ended'),
    rowsOf(expired, 'expires_at', 'ended'),
  ].join(' union all ')
}

/** How many sessions of a time wait, counted up to one more than the limit. */
function* waiting(
  sources: readonly string[],
  [from, to]: readonly [Instant, Instant],
  limit: number,
): Work<number> {
  const each = sources.map((source) => `select 1 as one from ${source}`)
  const found = yield* row(
    `select count(*) as sessions from (${each.join(' union all ')} limit $5) part`,
    [...rangeValues(from, to), limit + 1],
  )
  return Number(found?.sessions)
}

/** Up to when sessions are counted, and the earliest time that others can have. */
function* head(now: Instant): Work<{ readonly stored: Instant; readonly from: Instant }> {
  const found = yield* row('select counted_until from session_total_head where number = 1', [])
  const stored = Number(found?.counted_until ?? 0)
  const oldest = yield* row(
    'select created_at from session where session_key > 0 order by session_key limit 1',
    [],
  )
  return { stored, from: Math.min(now, Math.max(stored, Number(oldest?.created_at ?? now))) }
}

/** Of two nodes that move the head at once, one does, and the other gets false. */
function* moveHead(from: Instant, to: Instant): Work<boolean> {
  const text = `update session_total_head set counted_until = $2
    where number = 1 and counted_until = $1`
  return (yield* changed(text, [from, to])) === 1
}

/** The totals as SQL. */
export function totalTable(dialect: Dialect): TotalTable {
  const sources = Object.values(sourcesOf(dialect))
  const counted = countedOf(sourcesOf(dialect))

  function* select(query: TotalsQuery, now: Instant, by?: Grouping): Work<readonly Row[]> {
    const { tenantId, workflow, since, until, limit, skip = 0 } = query
    const values: SqlValue[] = rangeValues((yield* head(now)).from, now + 1)
    const value = (given: SqlValue): string => `$${values.push(given)}`
    const conditions = [`hour between ${value(since)} and ${value(until - 1)}`]
    let live = counted
    if (tenantId !== undefined) {
      const owner = value(tenantId)
      conditions.push(`tenant_id = ${owner}`)
      // All tenants would be one search of an index each.
      live = countedOf(sourcesOf(dialect, `(select id from tenant where id = ${owner}) tenant`))
    }
    if (workflow !== undefined) conditions.push(`workflow = ${value(workflow)}`)
    const where = `where ${conditions.join(' and ')}`
    // The rows of all workflows have no tenant.
    const isAll = by?.key !== GROUPINGS.workflow.key && conditions.length === 1
    const all = `select ${KEY}, ${NAMES} from session_total
      ${where} and tenant_id ${isAll ? '=' : '<>'} ''
      union all select * from (${live}) live ${where}`
    if (by === undefined) return yield* rows(`select ${SUMS} from (${all}) total`, values)
    return yield* rows(
      `select ${by.key}, ${SUMS} from (${all}) total
       group by ${by.group} order by ${by.order} limit ${value(limit)} offset ${value(skip)}`,
      values,
    )
  }

  return {
    *count(before, limit) {
      const { stored, from } = yield* head(before)
      if (stored > before + TOTALS_DELAY_MS) {
        // A clock was ahead, and sessions were counted up to its time. None is counted twice.
        yield* moveHead(stored, before + TOTALS_DELAY_MS)
        return true
      }
      let [low, high] = [from, before]
      for (;;) {
        const found = yield* waiting(sources, [low, high], limit)
        if (found > limit && high - low > 1) high = low + Math.floor((high - low) / 2)
        else if (found > 0) break
        else if (high === before) return false
        else [low, high] = [high, before]
      }
      if (!(yield* moveHead(stored, high))) return true
      yield* sent(ADD + counted + INTO_ROWS, rangeValues(low, high))
      return high < before && (yield* waiting(sources, [high, before], 1)) > 0
    },

    *list(query, now) {
      const found = yield* select(query, now, GROUPINGS[query.by])
      return found.map((each) => ({
        ...totalsFromRow(each),
        from: each.begins == null ? null : Number(each.begins),
        tenantId: (each.tenant_id ?? null) as TenantId | null,
        workflow: (each.workflow ?? null) as string | null,
      }))
    },

    *sum(query, now) {
      const [found = {}] = yield* select(query, now)
      return totalsFromRow(found)
    },

    *purge(before, limit) {
      return yield* changed(
        `delete from session_total where ${dialect.rowId} in (
           select ${dialect.rowId} from session_total where hour between 0 and $1 limit $2)`,
        [before - 1, limit],
      )
    },
  }
}

function totalsFromRow(found: Row): Totals {
  const counts = COLUMNS.map(({ name }) => Number(found[name] ?? 0))
  const named = Object.fromEntries(COUNTS.map((count, index) => [count, counts[index]]))
  return { ...(named as unknown as Totals), latencies: counts.slice(COUNTS.length) }
}
