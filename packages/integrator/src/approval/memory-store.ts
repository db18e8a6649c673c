import { type ApprovalStore, type StoredApproval, UNFINISHED } from './approval-store.ts'

/**
 * A store in the memory of one process, for tests and demos. A restart deletes all rows. Their
 * approvals then run no more, and unknown outcomes are not listed.
 */
export function memoryApprovalStore(): ApprovalStore {
  const rows = new Map<string, StoredApproval>()
  return {
    async put(row) {
      if (!rows.has(row.id)) rows.set(row.id, { ...row })
    },
    async find(id) {
      return rows.get(id)
    },
    async withLookup(lookup) {
      return [...rows.values()]
        .filter((row) => row.lookup === lookup)
        .toSorted((a, b) => b.expires_at - a.expires_at)
    },
    async move(id, from, to, at) {
      const row = rows.get(id)
      if (row?.state !== from) return false
      rows.set(id, { ...row, state: to, changed_at: at })
      return true
    },
    async unfinished() {
      return [...rows.values()].filter(({ state }) => UNFINISHED.includes(state))
    },
    async remove(id) {
      const row = rows.get(id)
      if (row && !UNFINISHED.includes(row.state)) rows.delete(id)
    },
    async removeExpired(before) {
      const old = [...rows.values()].filter(
        ({ state, expires_at }) => expires_at < before && !UNFINISHED.includes(state),
      )
      for (const { id } of old) rows.delete(id)
      return old.length
    },
  }
}
