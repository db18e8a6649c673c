import { MAX_WAKE_UPS, WAKE_UPS_WITHIN_MS } from '@bonded/core/domain/inbox'
import type { PushTable } from '@bonded/core/ports/tables/push-table'
import type { Dialect } from '../dialect.ts'
import { changed, row, rows, sent } from '../statement.ts'
import { deviceFromRow } from './device-table.ts'

/** Whether a wake-up counts now. One after now is of a clock that was ahead. */
const COUNTS = 'woken_at > 0 and woken_at between $3 and $4'

/** The SQL of wake-ups. */
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
      const found = yield* row('select endpoint from push_subscription where device_id = $1', [id])
      return (found?.endpoint ?? undefined) as string | undefined
    },

    *subscribe({ id, subjectId }, endpoint) {
      yield* sent('delete from push_subscription where device_id = $1', [id])
      if (endpoint === null) return
      yield* sent('delete from push_subscription where endpoint = $1', [endpoint])
      yield* sent(
        `insert into push_subscription (device_id, subject_id, endpoint) values ($1, $2, $3)
         on conflict (device_id) do update set endpoint = excluded.endpoint`,
        [id, subjectId, endpoint],
      )
    },

    *end(id, endpoint) {
      const ended = yield* changed(
        'delete from push_subscription where device_id = $1 and endpoint = $2',
        [id, endpoint],
      )
      return ended === 1
    },

    *subscriptions(id) {
      const found = yield* rows(
        `select device.*, endpoint, exists (select 1 from blocked_subject
             where blocked_subject.subject_id = device.subject_id) as subject_blocked
         from push_subscription join device on device.id = device_id
         where push_subscription.subject_id = $1 and status <> 'removed'
         order by created_at, id`,
        [id],
      )
      return found.map((each) => ({ device: deviceFromRow(each), endpoint: String(each.endpoint) }))
    },

    *count() {
      return Number((yield* row('select count(*) as phones from push_subscription', []))?.phones)
    },

    *countWakeUp({ tenantId, subjectId, caller }, now) {
      yield* lockSubject(subjectId)
      const counted = yield* changed(
        `update inbox_caller set woken_at = $4
         where tenant_id = $1 and subject_id = $2 and key_id = $6 and not (${COUNTS})
           and (select count(*) from inbox_caller
             where subject_id = $2 and ${COUNTS}) < $5`,
        [tenantId, subjectId, now - WAKE_UPS_WITHIN_MS + 1, now, MAX_WAKE_UPS, caller],
      )
      return counted === 1
    },
  }
}
