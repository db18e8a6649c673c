import type { DeclineRequest, SessionId } from '@bonded/contract'
import { isInbox, pauseUntil } from '../../domain/inbox.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import type { PhoneFacts } from '../../protocol/facts.ts'
import { runChecks } from '../../protocol/run-checks.ts'
import { hasBond, type Move, MOVES } from '../../protocol/states.ts'
import { countDecided, decideOthers, endIfLive } from '../session/quorum.ts'
import type { PhoneReading } from '../session/read-session.ts'
import { recordPause } from '../audit/audit.ts'
import { loadAndExpireAttempt, rejectAndRecord } from './phone-attempt.ts'
import type { PhoneCaller, Service } from '../service.ts'

export interface DeclineInput {
  readonly id: SessionId | undefined
  readonly request: DeclineRequest
}

/**
 * Ends the session, because the user declined or did not start the request. A report of a request
 * in the inbox also ends the tenant's other ones, and pauses the tenant. In a quorum, one no ends
 * the sessions of the others too.
 *
 * @param isAudited whether it may pause an inbox, which is in the audit log
 */
export async function declineSession(
  service: Service,
  caller: PhoneCaller,
  { id, request }: DeclineInput,
  isAudited = false,
): Promise<Result<PhoneReading>> {
  const { device } = caller
  const { nonce, reason, note } = request
  const isReport = reason === 'user_unexpected'
  if (note !== undefined && isReport) return reject('invalid_member', { param: 'note' })
  if (device.id !== request.device_id) return reject('device_not_usable', { param: 'device_id' })
  if (id === undefined) return reject('session_not_live')

  const declined = await service.store.write(function* (tables): Work<
    Result<PhoneReading> | undefined
  > {
    // The first lock of a unit. Reports of requests on a page do without it.
    if (isAudited) yield* tables.audit.lock()
    for (;;) {
      const attempt = yield* loadAndExpireAttempt(service, tables, { id, device, nonce })
      if (attempt === undefined) return reject('session_not_live')
      if (isReport && isInbox(attempt.session) && !isAudited) return undefined
      const failed = yield* runChecks('decline', attempt)
      if (failed !== undefined) return yield* rejectAndRecord(tables, attempt, failed.rejection)
      // A page's session can be claimed by any phone, whose user could write into an agent.
      if (note !== undefined && !isInbox(attempt.session))
        return reject('invalid_member', { param: 'note' })
      const report = isReport ? yield* reportOf(tables, attempt) : undefined
      const change = {
        now: attempt.now,
        set: { deviceId: device.id },
        about: { inboxPausedUntil: report?.until },
      }
      const ended = yield* tables.sessions.move(
        attempt.session,
        moveFor(attempt.session, isReport),
        {
          ...change,
          set: { ...change.set, nonce, declineNote: note },
        },
      )
      if (ended === undefined) continue
      const noes = [ended]
      if (report !== undefined) {
        const { tenantId, inboxPausedUntil: before } = report.reference
        yield* tables.subjects.pauseInbox(report.reference, report.until)
        const paused = { at: attempt.now, kind: 'inbox_paused', step: tenantId } as const
        yield* tables.devices.record(device.id, paused)
        const pause = { action: 'declineSession', device, tenantId, before, after: report.until }
        yield* recordPause(service, tables, pause)
        for (const { id: other } of report.open) {
          const declined = yield* endIfLive(tables, other, MOVES.declineUnexpected, change)
          if (declined !== undefined) noes.push(declined)
          else yield* withdrawFromQuorum(tables, other)
        }
      }
      const decided: Session[] = []
      for (const no of noes) decided.push(...(yield* decideOthers(tables, no, attempt.now)))
      if (isInbox(ended)) yield* tables.sessions.countRequest(ended, 'declined')
      yield* countDecided(tables, decided)
      return accept({ session: ended, tenant: attempt.tenant, nonce })
    }
  })
  return declined ?? declineSession(service, caller, { id, request }, true)
}

/** A report of a request in the inbox: what it pauses, and which other requests it ends. */
function* reportOf(tables: Tables, { session, now }: PhoneFacts) {
  const { tenantId, wantedSubjectRef } = session
  if (!isInbox(session) || wantedSubjectRef === null) return undefined
  const reference = yield* tables.subjects.find(tenantId, wantedSubjectRef)
  if (reference === undefined) return undefined
  const past = yield* tables.sessions.inboxHistory(tenantId, reference.subjectId, now)
  return {
    reference,
    until: pauseUntil(reference.inboxReports, now),
    open: past.filter(({ id, endedAt }) => endedAt === null && id !== session.id),
  }
}

/** How the answer of a user ends the session, which can be one approval of several by then. */
function moveFor(session: Session, isReport: boolean): Move {
  if (hasBond(session)) return isReport ? MOVES.takeBackUnexpected : MOVES.takeBack
  return isReport ? MOVES.declineUnexpected : MOVES.decline
}

/** Withdraws the approval of a user who has reported another request since. */
function* withdrawFromQuorum(tables: Tables, id: SessionId): Work<void> {
  const session = yield* tables.sessions.find(id)
  if (session !== undefined && session.quorumId !== null) yield* tables.sessions.withdraw(session)
}
