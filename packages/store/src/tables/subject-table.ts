import type { DeviceId } from '@bonded/contract'
import type { Instant } from '@bonded/core/domain/session'
import type { SubjectReference, SubjectTable } from '@bonded/core/ports/tables/subject-table'
import { deviceFromRow, SELECT_DEVICE } from './device-table.ts'
import type { Writing } from './event-publisher.ts'
import { columnNames } from '../personal-data.ts'
import { recordReader } from './record.ts'
import { changed, type Row, row, rows, sent } from '../statement.ts'

const readReference = recordReader<SubjectReference>(columnNames('pairwise_subject'))
const BY_REFERENCE = 'select * from pairwise_subject where subject_ref = $1 and tenant_id = $2'
/** A search in the index for each tenant: a reference has 256 bits, so at most one has it. */
const ANY_BY_REFERENCE = `select * from pairwise_subject
  where subject_ref = $1 and tenant_id in (select id from tenant) limit 1`

/** The SQL of the subjects: their keys, and their blocks by an operator and by tenants. */
// oxlint-disable-next-line max-lines-per-function -- two tables, a statement for each method
export function subjectTable({ dialect }: Pick<Writing, 'dialect'>): SubjectTable {
  return {
    *keys(id) {
      const found = yield* rows(
        `${SELECT_DEVICE} where subject_id = $1 and status <> 'removed' order by created_at, id`,
        [id],
      )
      return found.map(deviceFromRow)
    },

    *family(id) {
      const found = yield* rows(`${SELECT_DEVICE} where subject_id = $1 order by created_at, id`, [
        id,
      ])
      return found.map(deviceFromRow)
    },

    *blockedAt(id) {
      const found = yield* row('select blocked_at from blocked_subject where subject_id = $1', [id])
      return found === undefined ? undefined : Number(found.blocked_at)
    },

    *block(id, now) {
      yield* dialect.lockSubject(id)
      const blocked = yield* row(
        'insert into blocked_subject (subject_id, blocked_at) values ($1, $2) on conflict (subject_id) do nothing returning subject_id',
        [id, now],
      )
      yield* sent('delete from push_subscription where subject_id = $1', [id])
      return blocked !== undefined
    },

    *unblock(id) {
      yield* dialect.lockSubject(id)
      return (yield* changed('delete from blocked_subject where subject_id = $1', [id])) === 1
    },

    *find(tenantId, subjectRef) {
      const found =
        tenantId === undefined
          ? yield* row(ANY_BY_REFERENCE, [subjectRef])
          : yield* row(BY_REFERENCE, [subjectRef, tenantId])
      return found && referenceFromRow(found)
    },

    *references(id) {
      const found = yield* rows(
        `select * from pairwise_subject where subject_id = $1 and tenant_id in (select id from tenant)
         order by tenant_id`,
        [id],
      )
      return found.map(referenceFromRow)
    },

    *lastBonds({ tenantId, subjectId }) {
      const found = yield* rows(
        `select c.device_id, c.updated_at from device d
           join device_continuity c on c.tenant_id = $1 and c.device_id = d.id
         where d.subject_id = $2`,
        [tenantId, subjectId],
      )
      return new Map(found.map((each) => [each.device_id as DeviceId, Number(each.updated_at)]))
    },

    *blockAt({ tenantId, subjectId }, now) {
      yield* dialect.lockSubject(subjectId)
      const blocked = yield* changed(
        `update pairwise_subject set blocked_at = $3
         where tenant_id = $1 and subject_id = $2 and blocked_at is null`,
        [tenantId, subjectId, now],
      )
      return blocked === 1
    },

    *pauseInbox({ tenantId, subjectId }, until) {
      yield* dialect.lockSubject(subjectId)
      yield* sent(
        `update pairwise_subject set inbox_paused_until = $3, inbox_reports = inbox_reports + 1
         where tenant_id = $1 and subject_id = $2`,
        [tenantId, subjectId, until],
      )
    },

    *resumeInbox({ tenantId, subjectId }, now) {
      yield* dialect.lockSubject(subjectId)
      const resumed = yield* changed(
        `update pairwise_subject set inbox_paused_until = 0
         where tenant_id = $1 and subject_id = $2 and inbox_paused_until > $3`,
        [tenantId, subjectId, now],
      )
      return resumed === 1
    },

    *unblockAt({ tenantId, subjectId }) {
      yield* dialect.lockSubject(subjectId)
      const unblocked = yield* changed(
        `update pairwise_subject set blocked_at = null
         where tenant_id = $1 and subject_id = $2 and blocked_at is not null`,
        [tenantId, subjectId],
      )
      return unblocked === 1
    },
  }
}

function referenceFromRow(found: Row): SubjectReference {
  return {
    ...readReference(found),
    blockedAt: (found.blocked_at ?? undefined) as Instant | undefined,
  }
}
