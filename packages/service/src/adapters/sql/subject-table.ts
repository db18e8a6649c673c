import type { SubjectTable } from '../../ports/store.ts'
import { deviceFromRow, SELECT_DEVICE } from './device-table.ts'
import type { RowCaches } from './row-cache.ts'
import { changed, row, rows } from './statement.ts'

/** The subjects: their devices, and whether an operator has blocked them. */
export function subjectTable({ devices }: Pick<RowCaches, 'devices'>): SubjectTable {
  return {
    *keys(id) {
      const found = yield* rows(
        `${SELECT_DEVICE} where subject_id = $1 and status <> 'removed' order by created_at, id`,
        [id],
      )
      return found.map(deviceFromRow)
    },

    *blockedAt(id) {
      const found = yield* row('select blocked_at from blocked_subject where subject_id = $1', [id])
      return found === undefined ? undefined : Number(found.blocked_at)
    },

    *block(id, now) {
      // Cached devices include the block of their subject, and the cache has no index by subject.
      devices.clear()
      const blocked = yield* row(
        'insert into blocked_subject (subject_id, blocked_at) values ($1, $2) on conflict (subject_id) do nothing returning subject_id',
        [id, now],
      )
      return blocked !== undefined
    },

    *unblock(id) {
      devices.clear()
      return (yield* changed('delete from blocked_subject where subject_id = $1', [id])) === 1
    },
  }
}
