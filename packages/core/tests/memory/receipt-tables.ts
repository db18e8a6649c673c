import { TILE_WIDTH } from '../../src/domain/merkle.ts'
import type { LogHead, ReceiptLogTable } from '../../src/ports/tables/receipt-log-table.ts'
import type { ReceiptTable } from '../../src/ports/tables/receipt-table.ts'
import { keyOf, type Memory, tableOf } from './memory.ts'

const HASH_BYTES = 32
const NEW_LOG = {
  checkpoint: '',
  checkpointSize: 0,
  cosigned: '',
  cosignedSize: 0,
  cosignedAt: 0,
  witnessDueAt: 0,
  refused: '',
}

/** The receipts in memory. */
export function receiptTable({ receipts }: Memory): ReceiptTable {
  return tableOf<ReceiptTable>({
    add(receipt) {
      const key = keyOf(receipt.sessionId, receipt.state)
      if (!receipts.has(key)) receipts.set(key, { ...receipt, logIndex: null })
    },
    find: (id) => receipts.get(keyOf(id, 'completed')) ?? receipts.get(keyOf(id, 'bonded')),
    unlogged: (limit) =>
      [...receipts.values()]
        .filter(({ logIndex }) => logIndex === null)
        .toSorted((a, b) => a.madeAt - b.madeAt)
        .slice(0, limit),
    setLogIndex({ sessionId, state }, logIndex) {
      const key = keyOf(sessionId, state)
      const stored = receipts.get(key)
      if (stored !== undefined) receipts.set(key, { ...stored, logIndex })
    },
  })
}

/** The log of receipts in memory, on a server without a name. */
export function receiptLogTable({ logHead, logTiles, closedLogs }: Memory): ReceiptLogTable {
  const head = (): LogHead =>
    logHead.get('head') ?? {
      ...NEW_LOG,
      epoch: '',
      begunAt: 0,
      server: '',
      isSynchronous: false,
      size: 0,
      auditSize: 0,
    }
  const set = (members: Partial<LogHead>) => void logHead.set('head', { ...head(), ...members })
  const table = tableOf<Omit<ReceiptLogTable, 'server'>>({
    head,
    tile: (level, index) => logTiles.get(keyOf(level, index))?.tile,
    closed: () => [...closedLogs.values()].toSorted((a, b) => a.closedAt - b.closedAt),
    close({ epoch, nextEpoch, reason, now }) {
      const { checkpoint, checkpointSize, cosigned, cosignedSize } = head()
      if (head().epoch !== epoch) return false
      const closed = { checkpoint, checkpointSize, cosigned, cosignedSize, statement: '' }
      closedLogs.set(epoch, { ...closed, epoch, nextEpoch, reason, closedAt: now })
      set({ ...NEW_LOG, epoch: nextEpoch, begunAt: now })
      return true
    },
    storeStatement(epoch, statement) {
      const log = closedLogs.get(epoch)
      if (log?.statement === '') closedLogs.set(epoch, { ...log, statement })
    },
    refuse(epoch, why) {
      if (head().epoch === epoch) set({ refused: why })
    },
    noteServer() {},
    append({ before, size, auditSize, tiles, now }) {
      if (head().size !== before) return false
      set({ size, auditSize })
      for (const tile of tiles)
        logTiles.set(keyOf(tile.level, tile.index), { tile, appendedAt: now })
      return true
    },
    storeCheckpoint(checkpoint, { epoch, size }) {
      const now = head()
      const isLater = now.checkpointSize < size && now.size >= size
      if (isLater && now.epoch === epoch && now.refused === '')
        set({ checkpoint, checkpointSize: size })
    },
    claimWitnesses({ now, until }) {
      if (head().witnessDueAt > now) return false
      set({ witnessDueAt: until })
      return true
    },
    storeCosigned(cosigned, { epoch, size, now }) {
      if (head().cosignedSize <= size && head().epoch === epoch)
        set({ cosigned, cosignedSize: size, cosignedAt: now })
    },
    prune(appendedBy, limit) {
      const doomed = [...logTiles]
        .filter(([, { tile }]) => tile.level === 0)
        .filter(([, { tile }]) => tile.hashes.length === TILE_WIDTH * HASH_BYTES)
        .filter(([, { appendedAt }]) => appendedAt <= appendedBy)
        .toSorted(([, a], [, b]) => a.tile.index - b.tile.index)
        .slice(0, limit)
      for (const [key] of doomed) logTiles.delete(key)
      return doomed.length
    },
  })
  return { ...table, server: '' }
}
