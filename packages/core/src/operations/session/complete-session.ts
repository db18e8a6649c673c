import type { CompletionOutcome, SessionId } from '@bonded/contract'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import {
  awaitsPhone,
  hasMoved,
  isStoredFor,
  MOVES,
  takesLateReport,
} from '../../protocol/states.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { findAndExpireKeptSession, isAvailable } from './find-and-expire.ts'
import type { BackendCaller, Service } from '../service.ts'
import { countDecided, decideOthers, hasQuorum } from './quorum.ts'
import { completionSecretOf } from './session-view.ts'

export interface CompleteInput {
  readonly id: SessionId | undefined
  readonly completionSecret: string | undefined
  readonly contextDigest: string | undefined
  /** What the user sees; undefined if the backend says nothing, which users see as success. */
  readonly outcome?: CompletionOutcome | undefined
}

/**
 * Closes the bond once the action has durably succeeded. The checks run in this order: existence
 * and expiry, secret, context, state. Completing a completed session again succeeds, so a retry
 * after a lost response is safe. A repetition does not change the outcome. Of an expired session,
 * a report is kept, and the call is rejected.
 */
export async function completeSession(
  service: Service,
  caller: BackendCaller,
  input: CompleteInput,
): Promise<Result<Session>> {
  return service.store.write(function* (tables) {
    for (;;) {
      const found = yield* findAndExpireKeptSession(service, tables, {
        id: input.id,
        key: caller.credential,
      })
      if (!found.ok) return found
      const session = found.value
      // As stored: if the session's time ends after this read, the move has no effect, and the next
      // pass stores the end.
      if (hasMoved(session, MOVES.expire)) {
        const kept = yield* reportLate(service, tables, { session, input })
        if (kept === undefined) continue
        return reject('session_not_found', kept)
      }
      if (!isAvailable(service, session)) return reject('session_not_found')

      const secret = completionSecretOf(service, session).reveal()
      if (input.completionSecret === undefined)
        return reject('completion_secret_missing', { param: 'X-Bond-Completion-Secret' })
      if (!service.keys.same(secret, input.completionSecret))
        return reject('completion_secret_mismatch', { param: 'X-Bond-Completion-Secret' })

      const { contextDigest } = input
      const bound = session.context?.digest ?? ''
      if (contextDigest !== undefined && !service.keys.same(bound, contextDigest))
        return reject('context_mismatch', { param: 'X-Bond-Context-Digest' })

      if (hasMoved(session, MOVES.complete)) return accept(session)
      if (!isStoredFor(session, MOVES.complete)) return reject('session_not_bonded')
      // After the wait for the row, which another node may have locked: time has passed.
      const now = service.clock.now()
      if (!(yield* hasQuorum(tables, session, now)))
        return reject('session_not_bonded', { detail: 'Too few people have approved it.' })
      const completed = yield* tables.sessions.move(session, MOVES.complete, {
        now,
        set: { completedAt: now, outcome: input.outcome ?? null },
      })
      if (completed === undefined) continue
      yield* storeCompletion(tables, completed, now)
      // The action is done. Other approvals of it can still be completed.
      const isOpen = (other: Session) => awaitsPhone(other, now)
      yield* countDecided(tables, yield* decideOthers(tables, completed, now, isOpen))
      return accept(completed)
    }
  })
}

/**
 * Keeps the first report of the backend about an approval that has expired. A caller without the
 * completion secret learns nothing of it. Undefined if another report was faster.
 */
function* reportLate(
  service: Service,
  tables: Tables,
  { session, input }: { readonly session: Session; readonly input: CompleteInput },
): Work<{ readonly reportedAt?: number } | undefined> {
  const { keys, clock } = service
  if (!takesLateReport(session) || !keys.holds(session.rootKeyId)) return {}
  const bound = session.context?.digest ?? ''
  const { completionSecret = '', contextDigest = bound, outcome = null } = input
  const isBackend = keys.same(completionSecretOf(service, session).reveal(), completionSecret)
  if (!isBackend || !keys.same(bound, contextDigest)) return {}
  if (session.completedAt !== null) return { reportedAt: session.completedAt }
  const now = clock.now()
  if (!(yield* tables.sessions.reportLate(session, { now, outcome }))) return undefined
  const note = { at: now, kind: 'note', reason: 'reported_late', step: outcome }
  yield* tables.sessions.note(session.id, note)
  return { reportedAt: now }
}

/**
 * Stores that the tenant has accepted a bond of the key, which makes an unattested key known. A
 * request in review has not been accepted, and a completion without an outcome may be one: gates
 * before the outcome existed complete both alike. The timeline notes that, because the backend
 * otherwise notices it only at the user's next visit.
 */
function* storeCompletion(tables: Tables, session: Session, now: number): Work<void> {
  const { id, tenantId, deviceId, verification, outcome } = session
  if (deviceId === null || verification?.key_attested !== false) return
  if (outcome === 'accepted') yield* tables.sessions.storeCompletion({ tenantId, deviceId, now })
  if (outcome === null)
    yield* tables.sessions.note(id, { at: now, kind: 'note', reason: 'outcome_missing' })
}
