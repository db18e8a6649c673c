import type { ClosedLog, ReceiptLogTable } from '@bonded/core/ports/tables/receipt-log-table'
import type { Dialect } from '../dialect.ts'
import { changed, rows, sent } from '../statement.ts'
import { columnNames } from '../personal-data.ts'
import { recordReader } from './record.ts'

const closedFromRow = recordReader<ClosedLog>(columnNames('receipt_log_closed'))

type ClosedLogTable = Pick<
  ReceiptLogTable,
  'closed' | 'close' | 'storeStatement' | 'refuse' | 'noteServer'
>

/** The end of a log as SQL: a row for each closed one, and the name of the one that continues. */
export function closedLogTable({ server, isSynchronous }: Dialect): ClosedLogTable {
  return {
    *closed() {
      const found = yield* rows('select * from receipt_log_closed order by closed_at', [])
      return found.map(closedFromRow)
    },

    *close({ epoch, nextEpoch, reason, now }) {
      const count = yield* changed(
        `insert into receipt_log_closed (epoch, next_epoch, checkpoint, checkpoint_size, cosigned,
           cosigned_size, closed_at, reason)
         select epoch, $2, checkpoint, checkpoint_size, cosigned, cosigned_size, $3, $4
         from receipt_log where number = 1 and epoch = $1`,
        [epoch, nextEpoch, now, reason],
      )
      if (count === 0) return false
      yield* sent(
        `update receipt_log set epoch = $2, begun_at = $3, server = $4, refused = '',
           is_synchronous = ${isSynchronous}, checkpoint = '', checkpoint_size = 0, cosigned = '',
           cosigned_size = 0, cosigned_at = 0, witness_due_at = 0
         where number = 1 and epoch = $1`,
        [epoch, nextEpoch, now, server],
      )
      return true
    },

    *storeStatement(epoch, statement) {
      yield* sent(
        `update receipt_log_closed set statement = $2 where epoch = $1 and statement = ''`,
        [epoch, statement],
      )
    },

    *refuse(epoch, why) {
      yield* sent('update receipt_log set refused = $2 where number = 1 and epoch = $1', [
        epoch,
        why,
      ])
    },

    *noteServer() {
      yield* sent(
        `update receipt_log set server = $1, is_synchronous = ${isSynchronous} where number = 1`,
        [server],
      )
    },
  }
}
