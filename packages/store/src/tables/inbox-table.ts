import {
  INBOX_ENDED_MS,
  INBOX_HISTORY_MS,
  INBOX_WAITS_MS,
  type PastRequest,
} from '@bonded/core/domain/inbox'
import type { Session } from '@bonded/core/domain/session'
import type { InboxQuery, SessionTable } from '@bonded/core/ports/tables/session-table'
import { MOVES } from '@bonded/core/protocol/states'
import { row, rows, sent } from '../statement.ts'
import type { Writing } from './event-publisher.ts'
import { recordReader } from './record.ts'
import { sessionFromRow } from './session-row.ts'

/** How many rows one purge checks. They take some milliseconds. */
const MAX_CHECKED = 1_000
/** More than a user reads. One of a hundred tenants still has its newest ones among them. */
const MAX_WAITING = 200

const STATES = MOVES.decline.from.map((state) => `'${state}'`).join(', ')
/** The sessions that wait for the subject and that the device may open. */
const WAITING = `from session where inbox_subject_id = $1
  and created_at between $2 and $3 and expires_at > $3
  and ended_at is null and state in (${STATES}) and coalesce(device_id, $4) = $4`

/** The server credential that created a session. Embedded calls have none. */
const callerOf = (session: string) =>
  `coalesce((select key_id from session_event where session_key = ${session} and seq = 1), '')`
const OF_CALLER = `where tenant_id = $1 and subject_id = $2 and key_id = ${callerOf('$3')}`

/** How many requests were created since the last approval, unless the waits begin anew. */
const sinceApproval = (now: string) =>
  `case when inbox_caller.asked_at + ${INBOX_WAITS_MS} > ${now} then inbox_caller.since_approval else 0 end`

const PAST = 'id created_at expires_at bonded_at ended_at ended_reason device_id'.split(' ')
const pastFromRow = recordReader<PastRequest & Pick<Session, 'id'>>([...PAST, 'caller'])

/** The statement about a credential and a subject, by what became of a request. */
const COUNT = {
  asked: `insert into inbox_caller (tenant_id, subject_id, key_id, asked_at, since_approval, since_answer)
    values ($1, $2, ${callerOf('$3')}, $4, 1, 1)
    on conflict (subject_id, tenant_id, key_id) do update set asked_at = excluded.asked_at,
      since_answer = 1 + inbox_caller.since_answer,
      since_approval = 1 + ${sinceApproval('excluded.asked_at')}`,
  withdrawn: `update inbox_caller set
    since_approval = case when since_approval > 0 then since_approval - 1 else 0 end,
    since_answer = case when since_answer > 0 then since_answer - 1 else 0 end ${OF_CALLER}`,
  declined: `update inbox_caller set since_answer = 0 ${OF_CALLER}`,
  approved: `update inbox_caller set since_approval = 0, since_answer = 0 ${OF_CALLER}`,
} as const

/**
 * A scalar query reads the index for each row. PostgreSQL can answer an `exists` by a list of the
 * other table, all of which it reads.
 */
const PURGE = `delete from inbox_caller where subject_id > $1 and subject_id <= $2 and (
  (asked_at <= $3 and since_answer = 0)
  or (select revoked_at from server_credential
    where server_credential.key_id = inbox_caller.key_id) <= $3)`

/** The part of the table of sessions that is about inboxes. */
export function inboxTable({
  dialect,
  sessionKeys,
}: Pick<Writing, 'dialect' | 'sessionKeys'>): Pick<
  SessionTable,
  'waiting' | 'countWaiting' | 'inboxHistory' | 'askedSince' | 'countRequest' | 'purgeCallers'
> {
  return {
    *waiting(query) {
      const found = yield* rows(
        `select * from (select session.*, row_number() over
             (partition by tenant_id order by created_at desc) as place ${WAITING}) part
         order by place, created_at desc, id limit ${MAX_WAITING}`,
        valuesOf(query),
      )
      return found.map(sessionFromRow)
    },

    *countWaiting(query) {
      return Number((yield* row(`select count(*) as waiting ${WAITING}`, valuesOf(query)))?.waiting)
    },

    *inboxHistory(tenantId, subjectId, now) {
      yield* dialect.lockSubject(subjectId)
      const found = yield* rows(
        `select ${PAST.join(', ')},
           ${callerOf('session.session_key')} as caller from session
         where inbox_subject_id = $1 and tenant_id = $2 and created_at between $3 and $4
           and coalesce(ended_at, expires_at) > $5`,
        [subjectId, tenantId, now - INBOX_HISTORY_MS, now + INBOX_HISTORY_MS, now - INBOX_ENDED_MS],
      )
      return found.map(pastFromRow)
    },

    *askedSince({ tenantId, subjectId, caller, now }) {
      const found = yield* row(
        `select ${sinceApproval('$4')} as since_approval, since_answer from inbox_caller
         where tenant_id = $1 and subject_id = $2 and key_id = $3`,
        [tenantId, subjectId, caller, now],
      )
      return {
        approval: Number(found?.since_approval ?? 0),
        answer: Number(found?.since_answer ?? 0),
      }
    },

    *countRequest({ id, tenantId, inboxSubjectId, createdAt }, what) {
      const values = [tenantId, inboxSubjectId, sessionKeys.of(id)]
      yield* sent(COUNT[what], what === 'asked' ? [...values, createdAt] : values)
    },

    *purgeCallers(after, now) {
      // Every id is less than 'suc'. For a range, PostgreSQL reads the index also before it has
      // analyzed the table.
      const found = yield* row(
        `select coalesce(max(subject_id), '') as last from (select subject_id from inbox_caller
           where subject_id > $1 and subject_id < 'suc' order by subject_id limit ${MAX_CHECKED}) part`,
        [after],
      )
      const last = String(found?.last)
      yield* sent(PURGE, [after, last, now - INBOX_WAITS_MS])
      return last
    },
  }
}

function valuesOf({ device, from, now }: InboxQuery) {
  return [device.subjectId, from, now, device.id]
}
