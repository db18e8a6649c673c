import { admittedFrom, inboxWait } from '../../domain/inbox.ts'
import { accept, mapResult, type Result, reject } from '../../domain/rejection.ts'
import type { Device, Session } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { runReadingChecks } from '../../protocol/run-checks.ts'
import type { Invited } from '../phone/read-invitation.ts'
import type { Service } from '../service.ts'

/** The order in which units lock the subjects of a quorum, so that none waits for another one. */
export const bySubject = (a: Session, b: Session): number =>
  (a.inboxSubjectId ?? '') < (b.inboxSubjectId ?? '') ? -1 : 1

/**
 * Does what {@link admitToInbox} does for each session of a quorum, or rejects all of them. The
 * rejection names the reference at fault.
 */
export function* admitAll(
  service: Service,
  tables: Tables,
  asked: Pick<Invited, 'tenant'> & {
    readonly sessions: readonly Session[]
    readonly caller: string
  },
): Work<Result<readonly Session[]>> {
  const { sessions, tenant, caller } = asked
  const [first] = sessions
  if (first !== undefined && first.quorumId === null)
    return mapResult(
      yield* admitToInbox(service, tables, { session: first, tenant, caller }),
      (admitted) => [admitted],
    )
  const named: Session[] = []
  for (const session of sessions) {
    const found = yield* tables.subjects.find(tenant.id, session.wantedSubjectRef ?? '')
    named.push({ ...session, inboxSubjectId: found?.subjectId ?? null })
  }
  for (const session of named.toSorted(bySubject)) {
    const admitted = yield* admitToInbox(service, tables, { session, tenant, caller })
    const param = `subject_refs.${named.indexOf(session)}`
    if (!admitted.ok) return { ok: false, rejection: { ...admitted.rejection, param } }
  }
  return accept(named)
}

/**
 * Returns the session as it waits in the inbox of the subject that it names. An unknown subject and
 * one without a phone that may serve the session have one rejection. The limits count what is
 * stored, in the unit that stores the session.
 */
export function* admitToInbox(
  service: Service,
  tables: Tables,
  { session, tenant, caller }: Invited & { readonly caller: string },
): Work<Result<Session>> {
  const noPhone = reject('subject_has_no_phone', { param: 'subject_ref' })
  const reference = session.wantedSubjectRef ?? ''
  const named = yield* tables.subjects.find(tenant.id, reference)
  if (named === undefined) return noPhone
  const { subjectId } = named
  const now = service.clock.now()
  const past = yield* tables.sessions.inboxHistory(tenant.id, subjectId, now)
  // Read again: a report may have paused the tenant until the history was free to read.
  const { inboxPausedUntil } = (yield* tables.subjects.find(tenant.id, reference)) ?? named
  const asked = yield* tables.sessions.askedSince({ tenantId: tenant.id, subjectId, caller, now })
  const asking = { caller, past, asked }
  if (now < inboxPausedUntil)
    return reject('inbox_paused', { retryAfterMs: admittedFrom(asking, inboxPausedUntil) - now })
  const admitted = { ...session, inboxSubjectId: subjectId }
  let canServe = false
  for (const device of yield* tables.subjects.keys(subjectId))
    canServe ||= yield* mayServe(service, tables, { session: admitted, tenant, device })
  if (!canServe) return noPhone
  const wait = inboxWait(asking, now)
  return wait === undefined ? accept(admitted) : { ok: false, rejection: wait }
}

/** Whether a phone may serve a session, by the checks of a phone that reads it. */
export function* mayServe(
  { clock }: Pick<Service, 'clock'>,
  tables: Tables,
  of: Invited & { readonly device: Device },
): Work<boolean> {
  const { session, tenant, device } = of
  const stats = yield* tables.sessions.deviceStats(session, device)
  const { subjectRef, subjectBlocked, continuity, hasCompleted, failures } = stats
  const failed = runReadingChecks('read', {
    now: clock.now(),
    session,
    tenant,
    device,
    knownAs: subjectRef,
    subjectRef: subjectRef ?? '',
    subjectBlockedHere: subjectBlocked,
    continuity,
    hasCompleted,
    // The session names its subject, whose keys need no older phone.
    olderPhone: false,
    failures,
  })
  return failed === undefined
}
