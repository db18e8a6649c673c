import type { DeviceId, SessionId, TenantId } from '@bonded/contract'
import { hinted } from '@bonded/core/domain/changes'
import type { Session } from '@bonded/core/domain/session'
import type { DeviceStats, SessionTable } from '@bonded/core/ports/tables/session-table'
import type { Work } from '@bonded/core/ports/work'
import { cachedTable } from './cached-table.ts'
import type { RowCaches } from './row-cache.ts'

/** More devices than one session sees. Beyond them, SQL answers for the session's failures. */
const MAX_DEVICES_OF_SESSION = 64

/** Caches sessions, with the failures of devices on them and the bonds of devices with tenants. */
// oxlint-disable-next-line max-lines-per-function -- short methods over one cache
export function sessionCache(
  table: SessionTable,
  { sessions, failures, bonds }: Pick<RowCaches, 'sessions' | 'failures' | 'bonds'>,
): SessionTable {
  /** Drops a session, and adds what the table returned in its place. */
  function replace(before: Session): ((after: Session | undefined) => void) | undefined {
    const wasCurrent = sessions.peek(before.id) === before
    sessions.delete(before.id)
    // The guard compares `seq` and the assertions only. What the table derives from an older row
    // can pass it and still differ from the stored row in another column.
    return wasCurrent
      ? (after) => void (after !== undefined && sessions.set(after.id, after))
      : undefined
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

  /** The caller moves each of them next, and a move is cached if it began at the cached row. */
  function* cacheAll(work: Work<readonly Session[]>): Work<readonly Session[]> {
    const found = yield* work
    for (const session of found) sessions.set(session.id, session)
    return found
  }

  return cachedTable<SessionTable>(table, {
    create: {
      write: (session) => (created) => {
        if (!created) return
        sessions.set(session.id, session)
        failures.set(session.id, { complete: true, counts: new Map() })
      },
    },

    find: {
      *read(id) {
        const known = sessions.get(id)
        if (known !== undefined) return known
        const found = yield* table.find(id)
        // A missing session is not cached: invented ids would evict real sessions.
        if (found !== undefined) sessions.set(id, found)
        return found
      },
    },

    move: { write: replace },
    countMiss: { write: replace },
    claim: { write: replace },
    hint: {
      // A phone's further evidence repeats the hint. Nothing is written, and the entry remains.
      write: (session, hint, now) =>
        hinted(session, hint, now) === undefined ? undefined : replace(session),
    },
    withdraw: { write: ({ id }) => sessions.delete(id) },
    reportLate: { write: ({ id }) => sessions.delete(id) },
    storeOrigin: { write: (id) => sessions.delete(id) },
    receiptMade: { write: ({ id }) => sessions.delete(id) },

    deviceStats: {
      *read(session, device) {
        const bond = bonds.get(bondKey(session.tenantId, device.id))
        const counted = failuresOf(session.id, device.id)
        if (bond !== undefined && counted !== undefined) return { ...bond, failures: counted }
        const found = yield* table.deviceStats(session, device)
        if (counted === undefined) setFailures(session.id, device.id, found.failures)
        cacheBond(session.tenantId, device.id, found)
        return found
      },
    },

    countFailure: {
      write(id, deviceId) {
        const known = failures.get(id)
        failures.delete(id)
        return (count) => {
          if (known !== undefined) failures.set(id, known)
          setFailures(id, deviceId, count)
        }
      },
    },

    claimReceipts: {
      write: () => (claimed) => {
        for (const { id } of claimed) sessions.delete(id)
      },
    },

    overdue: { read: (...given) => cacheAll(table.overdue(...given)) },
    movable: { read: (...given) => cacheAll(table.movable(...given)) },

    purge: {
      write: () => (ids) => {
        for (const id of ids) {
          sessions.delete(id)
          failures.delete(id)
        }
      },
    },

    storeContinuity: {
      write({ tenantId, deviceId, mean }) {
        const key = bondKey(tenantId, deviceId)
        const known = bonds.get(key)
        bonds.delete(key)
        return known && (() => bonds.set(key, { ...known, continuity: mean }))
      },
    },

    storeCompletion: {
      write({ tenantId, deviceId }) {
        const key = bondKey(tenantId, deviceId)
        const known = bonds.get(key)
        bonds.delete(key)
        return known && (() => bonds.set(key, { ...known, hasCompleted: true }))
      },
    },

    // An entry has neither the timeline nor the events.
    note: 'passed',
    timeline: 'passed',
    eventsAfter: 'passed',
    latest: 'passed',
    ofQuorum: 'passed',
    pinnedTo: 'passed',
    waiting: 'passed',
    countWaiting: 'passed',
    inboxHistory: 'passed',
    askedSince: 'passed',
    countRequest: 'passed',
    purgeCallers: 'passed',
    list: 'passed',
  })
}

function bondKey(tenantId: TenantId, deviceId: DeviceId): string {
  return `${tenantId} ${deviceId}`
}
