import type { ReceiptTable, StoredReceipt } from '@bonded/core/ports/tables/receipt-table'
import type { Dialect } from '../dialect.ts'
import { row, rows, sent } from '../statement.ts'
import { columnNames } from '../personal-data.ts'
import { recordReader } from './record.ts'

const receiptFromRow = recordReader<StoredReceipt>(columnNames('receipt'))

/** The receipts as SQL. */
export function receiptTable(dialect: Dialect): ReceiptTable {
  return {
    *add({ sessionId, state, tenantId, workflow, action, browserCommitment, jws, madeAt }) {
      yield* sent(
        `insert into receipt
         (session_id, state, tenant_id, workflow, action, browser_commitment, jws, made_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (session_id, state) do nothing`,
        [sessionId, state, tenantId, workflow, action, browserCommitment, jws, madeAt],
      )
    },

    *find(id) {
      // By the alphabet, `completed` comes after `bonded`.
      const found = yield* row(
        'select * from receipt where session_id = $1 order by state desc limit 1',
        [id],
      )
      return found && receiptFromRow(found)
    },

    *unlogged(limit) {
      const found = yield* rows(
        `select * from receipt where log_index is null order by made_at limit $1 ${dialect.forUpdate}`,
        [limit],
      )
      return found.map(receiptFromRow)
    },

    *setLogIndex({ sessionId, state }, index) {
      yield* sent('update receipt set log_index = $3 where session_id = $1 and state = $2', [
        sessionId,
        state,
        index,
      ])
    },
  }
}
