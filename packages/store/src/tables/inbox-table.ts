import type { SessionId } from '@bonded/contract'
import { INBOX_ENDED_MS, INBOX_HISTORY_MS } from '@bonded/core/domain/inbox'
import type { InboxQuery, SessionTable } from '@bonded/core/ports/tables/session-table'
import { MOVES } from '@bonded/core/protocol/states'
import type { Dialect } from '../dialect.ts'
import { row, rows } from '../statement.ts'
import { sessionFromRow } from './session-row.ts'

/** More than a user reads. One of a hundred tenants still has its newest ones among them. */
const MAX_WAITING = 200

const STATES = MOVES.decline.from.map((state) => `'${state}'`).join(', ')
/** The sessions that wait for the subject and that the device may open. */
const WAITING = `from session where inbox_subject_id = $1
  and created_at between $2 and $3 and expires_at > $3
  and ended_at is null and state in (${STATES}) and coalesce(device_id, $4) = $4`

/** The part of the table of sessions that is about inboxes. */
export function inboxTable(
  dialect: Pick<Dialect, 'lockSubject'>,
): Pick<SessionTable, 'waiting' | 'countWaiting' | 'inboxHistory'> {
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
        `select id, created_at, expires_at, bonded_at, ended_at from session
         where inbox_subject_id = $1 and tenant_id = $2 and created_at between $3 and $4
           and coalesce(ended_at, expires_at) > $5`,
        [subjectId, tenantId, now - INBOX_HISTORY_MS, now + INBOX_HISTORY_MS, now - INBOX_ENDED_MS],
      )
      return found.map((each) => ({
        id: each.id as SessionId,
        createdAt: Number(each.created_at),
        expiresAt: Number(each.expires_at),
        bondedAt: each.bonded_at === null ? null : Number(each.bonded_at),
        endedAt: each.ended_at === null ? null : Number(each.ended_at),
      }))
    },
  }
}

function valuesOf({ device, from, now }: InboxQuery) {
  return [device.subjectId, from, now, device.id]
}
