import { TILE_WIDTH } from '@bonded/core/domain/merkle'
import type { LogHead, ReceiptLogTable } from '@bonded/core/ports/tables/receipt-log-table'
import { changed, type Row, row, sent } from '../statement.ts'
import { closedLogTable } from './closed-log-table.ts'
import type { Dialect } from '../dialect.ts'
import { columnNames } from '../personal-data.ts'
import { recordReader } from './record.ts'

const HASH_BYTES = 32
const readHead = recordReader<LogHead>(columnNames('receipt_log'), { number: null })

/** The log as SQL: one row of the head, and a row for each tile. */
export function receiptLogTable(dialect: Dialect): ReceiptLogTable {
  const { forUpdate, server } = dialect
  return {
    server,
    ...closedLogTable(dialect),

    *head() {
      return headOf(yield* row(`select * from receipt_log where number = 1 ${forUpdate}`, []))
    },

    *tile(level, index) {
      const found = yield* row('select * from receipt_log_tile where level = $1 and tile = $2', [
        level,
        index,
      ])
      return (
        found && {
          level,
          index,
          hashes: found.hashes as Uint8Array,
          entries: found.entries as Uint8Array | null,
        }
      )
    },

    *append({ before, size, auditSize, tiles, now }) {
      const count = yield* changed(
        'update receipt_log set size = $2, audit_size = $3 where number = 1 and size = $1',
        [before, size, auditSize],
      )
      if (count === 0) return false
      for (const { level, index, hashes, entries } of tiles)
        yield* sent(
          `insert into receipt_log_tile (level, tile, hashes, entries, appended_at)
           values ($1, $2, $3, $4, $5) on conflict (level, tile) do update
           set hashes = excluded.hashes, entries = excluded.entries, appended_at = excluded.appended_at`,
          [level, index, hashes, entries, now],
        )
      return true
    },

    *storeCheckpoint(checkpoint, { epoch, size }) {
      yield* sent(
        `update receipt_log set checkpoint = $1, checkpoint_size = $2
         where number = 1 and checkpoint_size < $2 and size >= $2 and epoch = $3
           and (server = $4 or $4 = '') and refused = ''`,
        [checkpoint, size, epoch, server],
      )
    },

    *claimWitnesses({ now, until }) {
      const count = yield* changed(
        'update receipt_log set witness_due_at = $2 where number = 1 and witness_due_at <= $1',
        [now, until],
      )
      return count === 1
    },

    *storeCosigned(checkpoint, { epoch, size, now }) {
      yield* sent(
        `update receipt_log set cosigned = $1, cosigned_size = $2, cosigned_at = $3
         where number = 1 and cosigned_size <= $2 and epoch = $4`,
        [checkpoint, size, now, epoch],
      )
    },

    *prune(appendedBy, limit) {
      // The hashes of higher levels stay: proofs of later entries need them.
      return yield* changed(
        `delete from receipt_log_tile where level = 0 and tile in (
           select tile from receipt_log_tile
           where level = 0 and appended_at <= $1 and length(hashes) = ${TILE_WIDTH * HASH_BYTES}
           order by tile limit $2)`,
        [appendedBy, limit],
      )
    },
  }
}

function headOf(found: Row = {}): LogHead {
  return { ...readHead(found), isSynchronous: found.is_synchronous === 1 }
}
