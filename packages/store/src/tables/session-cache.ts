import type { DeviceId, SessionId, TenantId } from '@bonded/contract'
import { hinted } from '@bonded/core/domain/changes'
import type { Session } from '@bonded/core/domain/session'
import type { DeviceStats, SessionTable } from '@bonded/core/ports/tables/session-table'
import type { Work } from '@bonded/core/ports/work'
import type { RowCaches } from './row-cache.ts'

/** More devices than one session sees. Beyond them, SQL answers for the session's failures. */
const MAX_DEVICES_OF_SESSION = 64

/**
 * Adds a cache of committed rows to a session table. A write removes the entries that it may
 * change before it runs and adds only what the table returned. A write that throws therefore
 * leaves no entry behind, even if its unit catches the error and commits.
 */
// oxlint-disable-next-line max-lines-per-function -- short methods over one cache
export function sessionCache(
  table: SessionTable,
  { sessions, failures, bonds }: Pick<RowCaches, 'sessions' | 'failures' | 'bonds'>,
): SessionTable {
  function* replacing(before: Session, work: Work<Session | undefined>): Work<Session | undefined> {
    const wasCurrent = sessions.peek(before.id) === before
    sessions.delete(before.id)
    const after = yield* work
    // The guard compares `seq` and the assertions only. What the table derives from an older row
    // can pass it and still differ from the stored row in another column.
    if (wasCurrent && after !== undefined) sessions.set(after.id, after)
    return after
  }

  function setFailures(id: SessionId, deviceId: DeviceId, count: number): void {
    const known = failures.get(id) ?? { complete: false, counts: new Map<DeviceId, number>() }
    // Without its entry a session is no longer complete, so SQL answers for the omitted devices.
    if (!known.counts.has(deviceId) && known.counts.size >= MAX_DEVICES_OF_SESSION) {
      failures.delete(id)
      return
    }
    known.counts.set(deviceId, count)
    failures.set(id, known)
  }

  function failuresOf(id: SessionId, deviceId: DeviceId): number | undefined {
    const known = failures.get(id)
    return known?.counts.get(deviceId) ?? (known?.complete ? 0 : undefined)
  }

  /** Any device of the subject can create a missing reference, so only full bonds are cached. */
  function cacheBond(
    tenantId: TenantId,
    deviceId: DeviceId,
    { subjectRef, subjectBlocked, continuity, hasCompleted }: DeviceStats,
  ): void {
    if (subjectRef === undefined || continuity === undefined) return
    const bond = { subjectRef, subjectBlocked, continuity, hasCompleted }
    bonds.set(bondKey(tenantId, deviceId), bond)
  }

  return {
    ...table,

    *create(session) {
      const created = yield* table.create(session)
      if (!created) return false
      sessions.set(session.id, session)
      failures.set(session.id, { complete: true, counts: new Map() })
      return true
    },

    *find(id) {
      const known = sessions.get(id)
      if (known !== undefined) return known
      const found = yield* table.find(id)
      // A missing session is not cached: invented ids would evict real sessions.
      if (found !== undefined) sessions.set(id, found)
      return found
    },

    move: (session, move, change) => replacing(session, table.move(session, move, change)),
    countMiss: (session, change) => replacing(session, table.countMiss(session, change)),
    claim: (session, claim) => replacing(session, table.claim(session, claim)),

    *hint(session, hint, now) {
      // A phone's further evidence repeats the hint. Nothing is written, and the entry remains.
      if (hinted(session, hint, now) === undefined) return undefined
      return yield* replacing(session, table.hint(session, hint, now))
    },

    *withdraw(session) {
      sessions.delete(session.id)
      yield* table.withdraw(session)
    },

    *storeOrigin(id, origin) {
      sessions.delete(id)
      yield* table.storeOrigin(id, origin)
    },

    *deviceStats(session, device) {
      const bond = bonds.get(bondKey(session.tenantId, device.id))
      const counted = failuresOf(session.id, device.id)
      if (bond !== undefined && counted !== undefined) return { ...bond, failures: counted }
      const found = yield* table.deviceStats(session, device)
      if (counted === undefined) setFailures(session.id, device.id, found.failures)
      cacheBond(session.tenantId, device.id, found)
      return found
    },

    *countFailure(id, deviceId) {
      const known = failures.get(id)
      failures.delete(id)
      const count = yield* table.countFailure(id, deviceId)
      if (known !== undefined) failures.set(id, known)
      setFailures(id, deviceId, count)
      return count
    },

    *claimReceipts(claim) {
      const claimed = yield* table.claimReceipts(claim)
      for (const { id } of claimed) sessions.delete(id)
      return claimed
    },

    *receiptMade(session) {
      sessions.delete(session.id)
      yield* table.receiptMade(session)
    },

    *overdue(now, limit) {
      const found = yield* table.overdue(now, limit)
      // The caller moves each of them next, and a move is cached if it began at the cached row.
      for (const session of found) sessions.set(session.id, session)
      return found
    },

    *purge(endedBy, limit) {
      const ids = yield* table.purge(endedBy, limit)
      for (const id of ids) {
        sessions.delete(id)
        failures.delete(id)
      }
      return ids
    },

    *storeContinuity(continuity) {
      const { tenantId, deviceId, mean } = continuity
      const key = bondKey(tenantId, deviceId)
      const known = bonds.get(key)
      bonds.delete(key)
      yield* table.storeContinuity(continuity)
      if (known !== undefined) bonds.set(key, { ...known, continuity: mean })
    },

    *storeCompletion(completion) {
      const key = bondKey(completion.tenantId, completion.deviceId)
      const known = bonds.get(key)
      if (known?.hasCompleted === true) return
      bonds.delete(key)
      yield* table.storeCompletion(completion)
      if (known !== undefined) bonds.set(key, { ...known, hasCompleted: true })
    },
  }
}

function bondKey(tenantId: TenantId, deviceId: DeviceId): string {
  return `${tenantId} ${deviceId}`
}
