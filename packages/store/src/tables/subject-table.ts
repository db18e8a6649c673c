import type { SubjectTable } from '@bonded/core/ports/tables/subject-table'
import { deviceFromRow, SELECT_DEVICE } from './device-table.ts'
import type { Writing } from './event-publisher.ts'
import { changed, row, rows } from '../statement.ts'

/** The SQL of the subjects: their keys, and the subjects that an operator has blocked. */
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
      return blocked !== undefined
    },

    *unblock(id) {
      yield* dialect.lockSubject(id)
      return (yield* changed('delete from blocked_subject where subject_id = $1', [id])) === 1
    },
  }
}
