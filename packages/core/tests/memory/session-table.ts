import type { SessionId } from '@bonded/contract'
import { claimed, hinted, missed, moved } from '../../src/domain/changes.ts'
import { iso } from '../../src/domain/iso.ts'
import { MAX_REJECTIONS } from '../../src/domain/lifetimes.ts'
import type { Session } from '../../src/domain/session.ts'
import type { ChangeNotification } from '../../src/ports/bus.ts'
import type {
  SessionTable,
  StoredEvent,
  TimelineNote,
} from '../../src/ports/tables/session-table.ts'
import { isStoredFor, MOVES, stateAt } from '../../src/protocol/states.ts'
import { inboxTable } from './inbox-table.ts'
import { type CauseOf, type Entry, keyOf, type Memory, tableOf } from './memory.ts'

const MAX_NOTES = 200
const MAX_NOTES_OF_OTHER_PHONES = 100
const MAX_REJECTIONS_OF_OTHER_PHONES = 20

/** The sessions in memory. It stores no webhook events: a session that has some is an error. */
export function sessionTable(
  memory: Memory,
  { cause, notify }: { cause: CauseOf; notify: (notification: ChangeNotification) => void },
): SessionTable {
  const { sessions, entries, failures, bonds, references } = memory
  const all = () => [...sessions.values()]
  const live = () => all().filter(({ endedAt }) => endedAt === null)
  const entriesOf = (id: SessionId) => entries.get(id) ?? []
  const set = (id: SessionId, members: Partial<Session>) => {
    const stored = sessions.get(id)
    if (stored !== undefined) sessions.set(id, { ...stored, ...members })
  }

  /** Adds an event of a session, as it is after the change. */
  function event(session: Session, at: number, kind: string, reason: string | null = null): void {
    if (session.notifies) throw new Error('sessions in memory have no webhook events')
    const { id, seq, state, hint } = session
    const by = kind === MOVES.expire.to ? undefined : cause()
    const facts = { seq, kind, at, state, hint }
    const entry: Entry = {
      ...facts,
      reason,
      step: null,
      requestId: by?.requestId ?? null,
      keyId: by?.keyId ?? null,
    }
    entries.set(id, [...entriesOf(id), entry])
    notify({ sessionId: id, seq, change: { session, events: [facts] } })
  }

  /** The guarded statement: stores what differs, unless the session changed since it was read. */
  function replace(before: Session, after: Session | undefined): Session | undefined {
    if (after === undefined) return undefined
    const changed = Object.entries(after).filter(
      ([member, value]) => value !== before[member as keyof Session],
    )
    const stored = sessions.get(before.id)
    if (changed.length === 0) return after
    if (stored?.seq !== before.seq || stored.validAssertions !== before.validAssertions)
      return undefined
    set(before.id, Object.fromEntries(changed))
    return after
  }

  function addRejection({ id, tenantId, deviceId, wantedSubjectRef }: Session, note: TimelineNote) {
    const { at, kind, reason = null, step = null, subjectRef = null, by } = note
    const requestId = cause()?.requestId
    const isRejection = kind === 'refused' || reason === 'policy_not_met'
    if (!isRejection || reason === null || requestId === undefined) return
    const stored = [...memory.rejections.values()].filter(({ sessionId }) => sessionId === id)
    const isOther = by !== undefined && by !== deviceId
    const key = keyOf(tenantId, at, requestId)
    if (stored.length >= (isOther ? MAX_REJECTIONS_OF_OTHER_PHONES : MAX_REJECTIONS)) return
    if (memory.rejections.has(key)) return
    const subject = wantedSubjectRef ?? subjectRef
    memory.rejections.set(key, {
      tenantId,
      at,
      requestId,
      sessionId: id,
      subjectRef: subject,
      reason,
      step,
    })
  }

  return tableOf<SessionTable>({
    create(session) {
      if (sessions.has(session.id)) return false
      sessions.set(session.id, session)
      event(session, session.createdAt, 'created')
      return true
    },
    find: (id) => sessions.get(id),
    ofQuorum: (id) => all().filter(({ quorumId }) => quorumId === id),
    move(session, move, { now, set: changes }) {
      const next = moved(session, move, { now, ...(changes && { set: changes }) })
      const after = replace(session, next)
      const at = move.to === MOVES.expire.to ? session.expiresAt : now
      if (after) event(after, at, move.to, move.endedReason)
      return after
    },
    countMiss: (session, change) => replace(session, missed(session, change)),
    claim(session, claim) {
      const after = replace(session, claimed(session, claim))
      if (after && after.seq !== session.seq) event(after, claim.now, 'scanned')
      return after
    },
    hint(session, hint, now) {
      const after = replace(session, hinted(session, hint, now))
      if (after) event(after, now, hint)
      return after
    },
    withdraw(session) {
      const stored = sessions.get(session.id)
      if (stored && isStoredFor(session, MOVES.complete) && isStoredFor(stored, MOVES.complete))
        set(session.id, { verification: null })
    },
    reportLate(session, { now, outcome }) {
      const stored = sessions.get(session.id)
      const isFirst = stored?.state === 'expired' && stored.bondedAt !== null
      if (!isFirst || stored.completedAt !== null) return false
      set(session.id, { completedAt: now, outcome })
      return true
    },
    storeOrigin(id, origin) {
      if (sessions.get(id)?.requestingOrigin === null) set(id, { requestingOrigin: origin })
    },
    note(id, note) {
      const session = sessions.get(id)
      if (session === undefined) return
      const isOther = note.by !== undefined && note.by !== session.deviceId
      if (entriesOf(id).length < (isOther ? MAX_NOTES_OF_OTHER_PHONES : MAX_NOTES)) {
        const { at, kind, reason = null, step = null } = note
        const { requestId = null, keyId = null } = cause() ?? {}
        const { state, hint } = session
        const entry = { seq: null, at, kind, state, hint, reason, step, requestId, keyId }
        entries.set(id, [...entriesOf(id), entry])
      }
      addRejection(session, note)
    },
    timeline: (id) =>
      entriesOf(id)
        .toSorted((a, b) => a.at - b.at)
        .map(({ at, kind, seq, reason, step, requestId, keyId }) => ({
          at: iso(at),
          kind,
          seq,
          reason,
          step,
          request_id: requestId,
          key_id: keyId,
          key_name: null,
        })),
    eventsAfter: (id, seq) =>
      entriesOf(id).flatMap((entry): StoredEvent[] =>
        entry.seq !== null && entry.seq > seq
          ? [
              {
                seq: entry.seq,
                kind: entry.kind,
                at: entry.at,
                state: entry.state,
                hint: entry.hint,
              },
            ]
          : [],
      ),
    countFailure(id, deviceId) {
      const counted = (failures.get(keyOf(id, deviceId)) ?? 0) + 1
      failures.set(keyOf(id, deviceId), counted)
      return counted
    },
    deviceStats({ id, tenantId }, device) {
      const reference = references.get(keyOf(tenantId, device.subjectId))
      const bond = bonds.get(keyOf(tenantId, device.id))
      return {
        failures: failures.get(keyOf(id, device.id)) ?? 0,
        subjectRef: reference?.subjectRef,
        subjectBlocked: reference?.blockedAt !== undefined,
        continuity: bond?.mean,
        hasCompleted: (bond?.completedAt ?? null) !== null,
      }
    },
    claimReceipts({ now, until, limit }) {
      const due = all()
        .filter(({ receiptDueAt }) => receiptDueAt !== null && receiptDueAt <= now)
        .toSorted((a, b) => Number(a.receiptDueAt) - Number(b.receiptDueAt))
        .slice(0, limit)
      for (const { id } of due) set(id, { receiptDueAt: until })
      return due.map((session) => ({ ...session, receiptDueAt: until }))
    },
    receiptMade({ id, seq }) {
      if (sessions.get(id)?.seq === seq) set(id, { receiptDueAt: null })
    },
    overdue: (now, limit) =>
      live()
        .filter(({ expiresAt }) => expiresAt <= now)
        .toSorted((a, b) => a.expiresAt - b.expiresAt)
        .slice(0, limit),
    movable: (tenantId, move, limit) =>
      live()
        .filter((session) => session.tenantId === tenantId && move.from.includes(session.state))
        .toSorted((a, b) => a.expiresAt - b.expiresAt)
        .slice(0, limit),
    purge({ now, usualMs, limit }) {
      const doomed = all()
        .filter(({ endedAt }) => endedAt !== null && endedAt <= now - usualMs)
        .toSorted((a, b) => Number(a.endedAt) - Number(b.endedAt))
        .slice(0, limit)
      for (const { id } of doomed) {
        sessions.delete(id)
        entries.delete(id)
        for (const key of failures.keys()) if (key.startsWith(keyOf(id, ''))) failures.delete(key)
      }
      return doomed.map(({ id }) => id)
    },
    latest: () => all().toSorted((a, b) => b.createdAt - a.createdAt)[0],
    ...inboxTable(memory),
    pinnedTo: (deviceId) => live().filter((session) => session.deviceId === deviceId),
    list({ tenantId, state, before, limit }) {
      const newest = all().toSorted((a, b) => b.createdAt - a.createdAt)
      const first = newest.findIndex(({ id }) => id === before) + 1
      const found = newest
        .slice(first)
        .filter((session) => tenantId === undefined || session.tenantId === tenantId)
        .filter((session) => state === undefined || stateAt(session, state.at) === state.is)
      return { sessions: found.slice(0, limit), readTo: undefined }
    },
    storeContinuity({ tenantId, deviceId, mean, now }) {
      const key = keyOf(tenantId, deviceId)
      const completedAt = bonds.get(key)?.completedAt ?? null
      bonds.set(key, { tenantId, deviceId, mean, updatedAt: now, completedAt })
    },
    storeCompletion({ tenantId, deviceId, now }) {
      const bond = bonds.get(keyOf(tenantId, deviceId))
      if (bond?.completedAt === null)
        bonds.set(keyOf(tenantId, deviceId), { ...bond, completedAt: now })
    },
  })
}
