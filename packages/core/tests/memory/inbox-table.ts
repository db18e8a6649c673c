import type { Session } from '../../src/domain/session.ts'
import { INBOX_ENDED_MS, INBOX_HISTORY_MS, INBOX_WAITS_MS } from '../../src/domain/inbox.ts'
import type { InboxQuery, SessionTable } from '../../src/ports/tables/session-table.ts'
import { MOVES } from '../../src/protocol/states.ts'
import { keyOf, type Memory, type Plain } from './memory.ts'

const MAX_WAITING = 200

type InboxTable = Pick<
  SessionTable,
  'waiting' | 'countWaiting' | 'inboxHistory' | 'askedSince' | 'countRequest' | 'purgeCallers'
>

/** The part of the sessions in memory that is about inboxes. */
export function inboxTable({ sessions, entries, inboxCallers }: Memory): Plain<InboxTable> {
  /** The server credential that created a session. */
  const callerOf = ({ id }: Pick<Session, 'id'>) =>
    entries.get(id)?.find(({ seq }) => seq === 1)?.keyId ?? ''
  const waiting = ({ device, from, now }: InboxQuery) => {
    const found = [...sessions.values()]
      .filter(
        (session) =>
          session.inboxSubjectId === device.subjectId &&
          from <= session.createdAt &&
          session.createdAt <= now &&
          now < session.expiresAt &&
          session.endedAt === null &&
          MOVES.decline.from.some((state) => state === session.state) &&
          (session.deviceId ?? device.id) === device.id,
      )
      .toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
    const placeOf = ({ id, tenantId }: Session) =>
      found.filter((each) => each.tenantId === tenantId).findIndex((each) => each.id === id)
    return found.toSorted((a, b) => placeOf(a) - placeOf(b)).slice(0, MAX_WAITING)
  }
  const isRecent = ({ askedAt }: { askedAt: number }, now: number) => askedAt + INBOX_WAITS_MS > now
  return {
    waiting,
    countWaiting: (query) => waiting(query).length,
    inboxHistory: (tenantId, subjectId, now) =>
      [...sessions.values()]
        .filter(
          (session) =>
            session.inboxSubjectId === subjectId &&
            session.tenantId === tenantId &&
            Math.abs(session.createdAt - now) <= INBOX_HISTORY_MS &&
            (session.endedAt ?? session.expiresAt) > now - INBOX_ENDED_MS,
        )
        .map(({ id, createdAt, expiresAt, bondedAt, endedAt, endedReason, deviceId }) => ({
          id,
          createdAt,
          expiresAt,
          bondedAt,
          endedAt,
          endedReason,
          deviceId,
          caller: callerOf({ id }),
        })),
    askedSince({ tenantId, subjectId, caller, now }) {
      const counts = inboxCallers.get(keyOf(tenantId, subjectId, caller))
      if (counts === undefined) return { approval: 0, answer: 0 }
      return { approval: isRecent(counts, now) ? counts.approval : 0, answer: counts.answer }
    },
    countRequest({ id, tenantId, inboxSubjectId, createdAt }, what) {
      const key = keyOf(tenantId, inboxSubjectId ?? '', callerOf({ id }))
      const counts = inboxCallers.get(key)
      if (what === 'asked') {
        const approval = counts && isRecent(counts, createdAt) ? counts.approval : 0
        const answer = counts?.answer ?? 0
        inboxCallers.set(key, { askedAt: createdAt, approval: approval + 1, answer: answer + 1 })
      } else if (counts !== undefined) {
        const { approval, answer } = counts
        const after = {
          withdrawn: { approval: Math.max(0, approval - 1), answer: Math.max(0, answer - 1) },
          declined: { approval, answer: 0 },
          approved: { approval: 0, answer: 0 },
        }
        inboxCallers.set(key, { ...counts, ...after[what] })
      }
    },
    purgeCallers() {
      throw new Error('the store in memory purges no callers')
    },
  }
}
