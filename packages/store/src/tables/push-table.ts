import { MAX_WAKE_UPS, WAKE_UPS_WITHIN_MS } from '@bonded/core/domain/inbox'
import type { PushTable } from '@bonded/core/ports/tables/push-table'
import type { Dialect } from '../dialect.ts'
import { changed, row, rows, sent } from '../statement.ts'
import { deviceFromRow, SELECT_DEVICE } from './device-table.ts'

/** Whether a wake-up counts now. One after now is of a clock that was ahead. */
const COUNTS = 'inbox_woken_at > 0 and inbox_woken_at between $3 and $4'

/** The SQL of wake-ups. A subscription is a column of its device. */
export function pushTable({ lockSubject }: Pick<Dialect, 'lockSubject'>): PushTable {
  return {
    *key() {
      const found = yield* row('select sealed from push_key where number = 1', [])
      return found?.sealed as string | undefined
    },

    *storeKey(sealed, before) {
      yield* before === undefined
        ? sent(
            'insert into push_key (number, sealed) values (1, $1) on conflict (number) do nothing',
            [sealed],
          )
        : sent('update push_key set sealed = $1 where number = 1 and sealed = $2', [sealed, before])
    },

    *endpoint(id) {
      const found = yield* row('select push_endpoint from device where id = $1', [id])
      return (found?.push_endpoint ?? undefined) as string | undefined
    },

    *subscribe(id, endpoint) {
      if (endpoint !== null)
        yield* sent(
          'update device set push_endpoint = null where push_endpoint = $1 and id <> $2',
          [endpoint, id],
        )
      yield* sent('update device set push_endpoint = $2 where id = $1', [id, endpoint])
    },

    *end(id, endpoint) {
      const ended = yield* changed(
        'update device set push_endpoint = null where id = $1 and push_endpoint = $2',
        [id, endpoint],
      )
      return ended === 1
    },

    *subscriptions(id) {
      const found = yield* rows(
        `${SELECT_DEVICE} where subject_id = $1 and status <> 'removed'
           and push_endpoint is not null order by created_at, id`,
        [id],
      )
      return found.map((each) => ({
        device: deviceFromRow(each),
        endpoint: String(each.push_endpoint),
      }))
    },

    *count() {
      const found = yield* row(
        'select count(*) as phones from device where push_endpoint is not null',
        [],
      )
      return Number(found?.phones)
    },

    *countWakeUp({ tenantId, subjectId }, now) {
      yield* lockSubject(subjectId)
      const counted = yield* changed(
        `update pairwise_subject set inbox_woken_at = $4
         where tenant_id = $1 and subject_id = $2 and not (${COUNTS})
           and (select count(*) from pairwise_subject
             where subject_id = $2 and ${COUNTS}) < $5`,
        [tenantId, subjectId, now - WAKE_UPS_WITHIN_MS + 1, now, MAX_WAKE_UPS],
      )
      return counted === 1
    },
  }
}
