import { type PendingRow, type PendingStore, ROW_KEPT_AFTER_EXPIRY_MS } from './pending-store.ts'

/** The transaction of the memory store: a list of undo functions. */
export interface MemoryTransaction {
  /** Runs when the transaction does not commit, last registered first. */
  onRollback(undo: () => void): void
}

/**
 * A pending store in the memory of one process, for tests, demos and services of one process that
 * may lose rows. A restart deletes all rows. Their bonds then read `session_not_ours`, which fails
 * closed.
 *
 * @example const gate = createGate({ baseUrl, serverCredential, store: memoryPendingStore() })
 */
export function memoryPendingStore(): PendingStore<MemoryTransaction> {
  const rows = new Map<string, PendingRow>()

  function removeExpired(before: string): number {
    const expired = [...rows.values()].filter(
      (row) => Date.parse(row.expires_at) < Date.parse(before),
    )
    for (const row of expired) rows.delete(row.session_id)
    return expired.length
  }

  return {
    async put(row) {
      if (rows.has(row.session_id)) return
      // If the oldest row has not expired, there is nothing to purge.
      const [oldest] = rows.values()
      const purgeBefore = new Date(
        Date.parse(row.created_at) - ROW_KEPT_AFTER_EXPIRY_MS,
      ).toISOString()
      if (oldest !== undefined && oldest.expires_at < purgeBefore) removeExpired(purgeBefore)
      rows.set(row.session_id, row)
    },

    async find(session_id) {
      return rows.get(session_id)
    },

    async transaction(work) {
      const undos: (() => void)[] = []
      try {
        return await work({ onRollback: (undo) => void undos.push(undo) })
      } catch (error) {
        for (const undo of undos.reverse()) undo()
        throw error
      }
    },

    async use({ session_id, owner, used_at }, tx) {
      // Without an await between the check and the change, no other use can interleave.
      const row = rows.get(session_id)
      if (row === undefined || row.owner !== owner || row.used_at !== null) return false
      rows.set(session_id, { ...row, used_at })
      tx.onRollback(() => void rows.set(session_id, row))
      return true
    },

    async removeExpired(before) {
      return removeExpired(before)
    },
  }
}
