import type { RetentionKind } from '@bonded/core/domain/retention'
import type { Work } from '@bonded/core/ports/work'
import { type Row, row, rows, sent } from './statement.ts'

/**
 * What differs between the SQL of SQLite and of PostgreSQL. SQLite runs one unit of work at a time.
 * On PostgreSQL units of several nodes run at once, and each of their statements sees what was
 * committed before it. A unit that decides by several statements therefore takes a lock first. The
 * order of locks is: audit, subject, device, session. Several subjects are locked in the order of
 * their ids.
 */
export interface Dialect {
  /** Whether each message to the database is a round trip. */
  readonly isRemote: boolean
  /** Follows a query whose rows the unit changes next. */
  readonly forUpdate: string
  /** Follows a query for work that any node may do: skips the rows that another node works on. */
  readonly forWork: string
  /** The database server of the unit; empty if unknown. See `ReceiptLogTable.server`. */
  readonly server: string
  /** 1 if a commit waits for a standby, or has none to wait for because there is one file. */
  readonly isSynchronous: string
  /** The column of any table that finds a row until it is written again. */
  readonly rowId: string
  /** The column of `session_event` that rises with each row. */
  readonly eventOrder: string
  /** Takes the lock of the device's subject until the unit's end. */
  lockSubjectOf(deviceId: string): Work<void>
  lockSubject(subjectId: string): Work<void>
  lockDevice(deviceId: string): Work<void>
  lockSession(sessionKey: number): Work<void>
  /** The days of a retention of its own, in a query with `tenant`; null without one. */
  daysOf(kind: RetentionKind): string
  /** Units that add to the audit log take it first, so that each continues the one before. */
  lockAudit(): Work<void>
  /** Whether a node below this level has sent a message in the last 10 seconds. */
  servesBelow(level: number): Work<boolean>
  /**
   * Stores that a node begins to serve unless its level is too low, and returns whether it was
   * stored. One statement, which waits for a unit that has locked the level in use.
   */
  admitNode(node: string, level: number): Work<boolean>
  /** The nodes that have sent a message in the last 10 seconds. */
  nodes(): Work<readonly Row[]>
}

export const SQLITE: Dialect = {
  isRemote: false,
  forUpdate: '',
  forWork: '',
  server: '',
  isSynchronous: '1',
  rowId: 'rowid',
  eventOrder: 'rowid',
  daysOf: (kind) => `(tenant.retention ->> '${kind}')`,
  *lockSubjectOf() {},
  *lockSubject() {},
  *lockDevice() {},
  *lockSession() {},
  *lockAudit() {},
  // oxlint-disable-next-line require-yield -- a file has one node
  *servesBelow() {
    return false
  },
  *admitNode(_node, level) {
    return (
      (yield* row('select 1 as found from used_level where level <= $1', [level])) !== undefined
    )
  },
  // oxlint-disable-next-line require-yield -- its node sends no messages
  *nodes() {
    return []
  },
}

/** PostgreSQL, in a unit that only reads one snapshot. */
export const POSTGRES_READING: Dialect = {
  ...SQLITE,
  isRemote: true,
  rowId: 'ctid',
  eventOrder: 'ordinal',
  servesBelow,
  admitNode,
  nodes: recentNodes,
  daysOf: daysInJson,
}

/** PostgreSQL, in a unit that writes. Its server is known once it has a connection. */
export const POSTGRES: Dialect = {
  isRemote: true,
  server: '',
  isSynchronous: `case when current_setting('synchronous_standby_names') <> ''
    and current_setting('synchronous_commit') not in ('local', 'off') then 1 else 0 end`,
  forUpdate: 'for no key update',
  forWork: 'for update skip locked',
  rowId: 'ctid',
  eventOrder: 'ordinal',
  daysOf: daysInJson,
  lockSubjectOf: (deviceId) =>
    sent(
      `select pg_advisory_xact_lock(hashtextextended(subject_id, 0)) from device where id = $1`,
      [deviceId],
    ),
  lockSubject: (subjectId) =>
    sent(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [subjectId]),
  lockDevice: (deviceId) =>
    sent('select 1 from device where id = $1 for no key update', [deviceId]),
  lockSession: (sessionKey) =>
    sent('select 1 from session where session_key = $1 for no key update', [sessionKey]),
  lockAudit: () => sent(`select pg_advisory_xact_lock(hashtextextended('audit_entry', 0))`, []),
  servesBelow,
  admitNode,
  nodes: recentNodes,
}

const RECENT = `sent_at between statement_timestamp() - interval '10 seconds'
       and statement_timestamp() + interval '10 seconds'`

function* servesBelow(level: number): Work<boolean> {
  const found = yield* row(
    `select 1 as found from node_message where level < $1 and ${RECENT} limit 1`,
    [level],
  )
  return found !== undefined
}

/** The number is below those of messages, so that no node reads it. */
function* admitNode(node: string, level: number): Work<boolean> {
  const admitted = yield* row(
    `with used as (select 1 from used_level where level <= $2 for share)
     insert into node_message (node, number, text, level) select $1, 0, '', $2 from used
     on conflict (node, number) do update set sent_at = clock_timestamp() returning number`,
    [node, level],
  )
  return admitted !== undefined
}

function recentNodes(): Work<readonly Row[]> {
  return rows(
    `select node, max(level) as level,
       (extract(epoch from statement_timestamp() - max(sent_at)) * 1000)::bigint as age_ms
     from node_message where ${RECENT} group by node order by node`,
    [],
  )
}

function daysInJson(kind: RetentionKind): string {
  return `cast(cast(tenant.retention as json) ->> '${kind}' as bigint)`
}
