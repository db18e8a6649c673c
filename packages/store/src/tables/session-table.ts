import type { SessionId } from '@bonded/contract'
import type { Session } from '@bonded/core/domain/session'
import { MAX_REJECTIONS } from '@bonded/core/domain/lifetimes'
import { isStoredFor, MOVES } from '@bonded/core/protocol/states'
import { claimed, hinted, missed, moved } from '@bonded/core/domain/changes'
import type {
  DeviceStats,
  SessionTable,
  TimelineNote,
} from '@bonded/core/ports/tables/session-table'
import type { Work } from '@bonded/core/ports/work'
import type { Writing } from './event-publisher.ts'
import { dueRows } from './due-rows.ts'
import { inboxTable } from './inbox-table.ts'
import { isFiltered, lastReadStatement, listStatement } from './session-list.ts'
import {
  columnsOf,
  differenceOf,
  emptied,
  entryFromRow,
  eventFromRow,
  SESSION_COLUMNS,
  sessionFromRow,
} from './session-row.ts'
import { type EventOfSession, writeEvents } from './webhook-events.ts'
import { changedOnce, type Row, row, rows, sent } from '../statement.ts'

/** Timeline entries per session: more than an honest session causes, and a bound on storage. */
const MAX_NOTES = 200
/**
 * Entries that phones without the claim may cause. The remaining ones are reserved for the phone
 * that claimed, the backend and the operator.
 */
const MAX_NOTES_OF_OTHER_PHONES = 100

/** How many of the rejections that outlive a session phones without the claim may cause. */
const MAX_REJECTIONS_OF_OTHER_PHONES = 20

/** No user's data: neither the context, nor an address, nor the device. */
const INSERT_REJECTION = `insert into rejection
    (tenant_id, at, request_id, session_id, subject_ref, reason, step)
  select tenant_id, $2, $3, id, coalesce(wanted_subject_ref, $4), $5, $6 from session
  where session_key = $1 and id = $8 and
    (select count(*) from rejection where rejection.session_id = $8) <
    case when $7 in ('', device_id) then ${MAX_REJECTIONS} else ${MAX_REJECTIONS_OF_OTHER_PHONES} end
  on conflict do nothing`

const INSERT_SESSION = `insert into session (${SESSION_COLUMNS.join(', ')}, session_key) values (${SESSION_COLUMNS.map((_, index) => `$${index + 1}`).join(', ')}, $${SESSION_COLUMNS.length + 1})
  on conflict (session_key) do nothing`

const INSERT_EVENT = `insert into session_event (session_key, seq, at, kind, state, hint, reason, step, request_id, key_id)
  values ($1, $2, $3, $4, $5, $6, $7, null, $8, $9)`

const REPORT_LATE = `update session set completed_at = $3, outcome = $4
  where session_key = $1 and id = $2 and state = '${MOVES.expire.to}'
    and bonded_at is not null and completed_at is null`

/** Continues with a row `one`, the reference and the continuity. The session's key is `$1`. */
export const DEVICE_STATS = `select
    (select failures from session_device where session_key = $1 and device_id = $4) as failures,
    pairwise_subject.subject_ref, pairwise_subject.blocked_at,
    device_continuity.mean, device_continuity.completed_at`
const STATS_AT_TENANT = `${DEVICE_STATS} from (select 1) one
    left join pairwise_subject on pairwise_subject.tenant_id = $2 and subject_id = $3
    left join device_continuity on device_continuity.tenant_id = $2 and device_id = $4`

/**
 * The SQL of the sessions, their events and their timeline. A statement about a session names its
 * primary key and, where the caller may not have read the session, its id.
 *
 * @param writing.cause returns the request of the current unit of work, or undefined without one
 */
// oxlint-disable-next-line max-lines-per-function -- one table, a statement or two for each method
export function sessionTable({ notify, cause, sessionKeys, dialect }: Writing): SessionTable {
  function* event(session: Session, { at, kind, reason, about }: EventOfSession) {
    const { id, seq, state, hint } = session
    // Time expires a session, whichever request stores it.
    const by = kind === MOVES.expire.to ? undefined : cause()
    yield* sent(INSERT_EVENT, [
      sessionKeys.of(id),
      seq,
      at,
      kind,
      state,
      hint,
      reason ?? null,
      by?.requestId ?? null,
      by?.keyId ?? null,
    ])
    if (session.notifies) yield* writeEvents(session, { at, kind, about })
    notify({ sessionId: id, seq, change: { session, events: [{ seq, kind, at, state, hint }] } })
  }

  /**
   * Stores a change only if the session is unchanged since `before` was read. Returns false if
   * another unit was faster.
   */
  function* replace(before: Session, after: Session): Work<boolean> {
    const { columns, values } = differenceOf(before, after)
    if (values.length === 0) return true
    const key = sessionKeys.of(before.id)
    const guard = [key, before.id, before.seq, before.validAssertions]
    return (yield* changedOnce(updateStatement(columns), [...guard, ...values])) === 1
  }

  return {
    *create(session, about) {
      const key = sessionKeys.of(session.id)
      if ((yield* changedOnce(INSERT_SESSION, [...columnsOf(session), key])) === 0) return false
      yield* event(session, { at: session.createdAt, kind: 'created', about })
      return true
    },

    *find(id) {
      const found = yield* row(
        `select * from session where session_key = $1 and id = $2 ${dialect.forUpdate}`,
        [sessionKeys.of(id), id],
      )
      return found && sessionFromRow(found)
    },

    *move(session, move, { now, set, empties = false, about }) {
      const next = moved(session, move, { now, ...(set ? { set } : {}) })
      const after = next !== undefined && empties ? emptied(next) : next
      if (after === undefined || !(yield* replace(session, after))) return undefined
      yield* event(after, {
        at: move.to === MOVES.expire.to ? session.expiresAt : now,
        kind: move.to,
        reason: move.endedReason ?? null,
        about,
      })
      return after
    },

    *countMiss(session, change) {
      const after = missed(session, change)
      return after !== undefined && (yield* replace(session, after)) ? after : undefined
    },

    *claim(session, claim) {
      const after = claimed(session, claim)
      if (after === undefined || !(yield* replace(session, after))) return undefined
      if (after.seq !== session.seq) yield* event(after, { at: claim.now, kind: 'scanned' })
      return after
    },

    *hint(session, hint, now) {
      const after = hinted(session, hint, now)
      if (after === undefined || !(yield* replace(session, after))) return undefined
      yield* event(after, { at: now, kind: hint })
      return after
    },

    *withdraw(session) {
      if (!isStoredFor(session, MOVES.complete)) return
      yield* sent(
        'update session set verification = null where session_key = $1 and id = $2 and state = $3',
        [sessionKeys.of(session.id), session.id, MOVES.bond.to],
      )
    },

    *reportLate({ id }, { now, outcome }) {
      const key = sessionKeys.of(id)
      return (yield* changedOnce(REPORT_LATE, [key, id, now, outcome])) === 1
    },

    *storeOrigin(id, origin) {
      yield* sent(
        'update session set requesting_origin = $3 where session_key = $1 and id = $2 and requesting_origin is null',
        [sessionKeys.of(id), id, origin],
      )
    },

    *note(id, note) {
      const key = sessionKeys.of(id)
      yield* dialect.lockSession(key)
      yield* sent(
        `insert into session_event (session_key, seq, at, kind, state, hint, reason, step, request_id, key_id)
         select session_key, null, $2, $3, null, null, $4, $5, $6, $7 from session
         where session_key = $1 and id = $9 and
           (select count(*) from session_event where session_event.session_key = $1) <
           case when $8 in ('', device_id) then ${MAX_NOTES} else ${MAX_NOTES_OF_OTHER_PHONES} end`,
        [
          key,
          note.at,
          note.kind,
          note.reason ?? null,
          note.step ?? null,
          cause()?.requestId ?? null,
          cause()?.keyId ?? null,
          note.by ?? '',
          id,
        ],
      )
      const { at, reason, step = null, subjectRef = null, by = '' } = note
      const requestId = cause()?.requestId
      if (!isRejection(note) || reason == null || requestId === undefined) return
      const values = [key, at, requestId, subjectRef, reason, step, by, id] as const
      yield* sent(INSERT_REJECTION, values)
    },

    *timeline(id) {
      const entries = yield* rows(
        `select session_event.*, coalesce(server_credential.name, publishable_key.name) as key_name
         from session_event left join server_credential using (key_id)
           left join publishable_key on publishable_key.publishable_key = session_event.key_id
         where session_key = $1 order by at, session_event.${dialect.eventOrder}`,
        [sessionKeys.of(id)],
      )
      return entries.map(entryFromRow)
    },

    *eventsAfter(id, seq) {
      const events = yield* rows(
        'select * from session_event where session_key = $1 and seq > $2 order by seq',
        [sessionKeys.of(id), seq],
      )
      return events.map(eventFromRow)
    },

    *countFailure(id, deviceId) {
      const counted = yield* row(
        `insert into session_device (session_key, device_id, failures) values ($1, $2, 1)
         on conflict (session_key, device_id) do update set failures = session_device.failures + 1 returning failures`,
        [sessionKeys.of(id), deviceId],
      )
      return Number(counted?.failures)
    },

    *deviceStats({ id, tenantId }, device) {
      const key = sessionKeys.of(id)
      const values = [key, tenantId, device.subjectId, device.id]
      return deviceStatsFromRow(yield* row(STATS_AT_TENANT, values))
    },

    *claimReceipts({ now, until, limit }) {
      const due = yield* rows(
        `select * from session where receipt_due_at between 0 and $1 order by receipt_due_at limit $2 ${dialect.forWork}`,
        [now, limit],
      )
      for (const { session_key: key } of due)
        yield* sent('update session set receipt_due_at = $2 where session_key = $1', [
          Number(key),
          until,
        ])
      return due.map((found) => ({ ...sessionFromRow(found), receiptDueAt: until }))
    },

    *receiptMade({ id, seq }) {
      yield* sent(
        'update session set receipt_due_at = null where session_key = $1 and id = $2 and seq = $3',
        [sessionKeys.of(id), id, seq],
      )
    },

    *overdue(now, limit) {
      const found = yield* rows(
        `select * from session where ended_at is null and expires_at between 0 and $1 order by expires_at limit $2 ${dialect.forWork}`,
        [now, limit],
      )
      return found.map(sessionFromRow)
    },

    *movable(tenantId, move, limit) {
      const states = move.from.map((state) => `'${state}'`).join(', ')
      const found = yield* rows(
        `select * from session where ended_at is null and expires_at between 0 and $2
         and tenant_id = $1 and state in (${states}) order by expires_at limit $3`,
        [tenantId, Number.MAX_SAFE_INTEGER, limit],
      )
      return found.map(sessionFromRow)
    },

    *purge(due) {
      const columns = ['session_key', 'id']
      const doomed = yield* dueRows(dialect, { kind: 'sessions', columns, due })
      if (doomed.length === 0) return []
      const keys = doomed.map((found) => Number(found.session_key))
      // One at a time: until PostgreSQL has analyzed a table, it reads all of it to find several.
      for (const key of keys)
        for (const table of ['session_event', 'session_device', 'session'])
          yield* sent(`delete from ${table} where session_key = $1`, [key])
      return doomed.map((found) => found.id as SessionId)
    },

    ...inboxTable({ dialect, sessionKeys }),

    *latest() {
      const found = yield* row(
        // The primary key begins with the time of the creation.
        'select root_key_id, created_at from session where session_key > 0 order by session_key desc limit 1',
        [],
      )
      return found && { rootKeyId: String(found.root_key_id), createdAt: Number(found.created_at) }
    },

    *ofQuorum(id) {
      const found = yield* rows('select * from session where quorum_id = $1 order by id', [id])
      return found.map(sessionFromRow)
    },

    *pinnedTo(deviceId) {
      const found = yield* rows(
        'select * from session where ended_at is null and device_id = $1 order by created_at',
        [deviceId],
      )
      return found.map(sessionFromRow)
    },

    *list(query) {
      const below =
        query.before === undefined ? Number.MAX_SAFE_INTEGER : sessionKeys.of(query.before)
      const { text, values } = listStatement(query, below)
      const sessions = (yield* rows(text, values)).map(sessionFromRow)
      if (sessions.length === query.limit || !isFiltered(query))
        return { sessions, readTo: undefined }
      const last = lastReadStatement(query, below)
      const found = yield* row(last.text, last.values)
      return { sessions, readTo: found?.id as SessionId | undefined }
    },

    *storeContinuity({ tenantId, deviceId, mean, now }) {
      yield* sent(
        `insert into device_continuity (tenant_id, device_id, mean, updated_at) values ($1, $2, $3, $4)
         on conflict (tenant_id, device_id) do update set mean = excluded.mean, updated_at = excluded.updated_at`,
        [tenantId, deviceId, String(mean), now],
      )
    },

    *storeCompletion({ tenantId, deviceId, now }) {
      yield* sent(
        'update device_continuity set completed_at = $3 where tenant_id = $1 and device_id = $2 and completed_at is null',
        [tenantId, deviceId, now],
      )
    },
  }
}

/** Whether a note says why a request was rejected, or why an approval did not suffice. */
function isRejection({ kind, reason }: TimelineNote): boolean {
  return kind === 'refused' || reason === 'policy_not_met'
}

/** Converts a row of `DEVICE_STATS`. */
export function deviceStatsFromRow(found: Row | undefined): DeviceStats {
  return {
    failures: Number(found?.failures ?? 0),
    subjectRef: (found?.subject_ref as string | null) ?? undefined,
    subjectBlocked: found?.blocked_at != null,
    continuity: found?.mean == null ? undefined : Number(found.mean),
    hasCompleted: found?.completed_at != null,
  }
}

const updates = new Map<string, string>()

/** One statement for each set of columns that changes together; there are about ten. */
function updateStatement(columns: string): string {
  let text = updates.get(columns)
  if (text === undefined) {
    const assignments = columns
      .trim()
      .split(' ')
      .map((column, index) => `${column} = $${index + 5}`)
    text = `update session set ${assignments.join(', ')} where session_key = $1 and id = $2 and seq = $3 and valid_assertions = $4`
    updates.set(columns, text)
  }
  return text
}
