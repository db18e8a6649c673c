import type { PulseVerification } from '@bonded/contract'
import type { MoveChanges } from '../../domain/changes.ts'
import { isInbox } from '../../domain/inbox.ts'
import type { Instant, Session } from '../../domain/session.ts'
import { quorumEnd } from '../../domain/lifetimes.ts'
import type { SessionFacts } from '../../protocol/facts.ts'
import { MOVES } from '../../protocol/states.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'

/**
 * Bonds the session of an attempt that has passed every check.
 *
 * @param set what else the session stores with its bond
 * @returns undefined if another call changed the session in between
 */
export function* bondSession(
  tables: Tables,
  { session, device, now, ...attempt }: SessionFacts,
  { verification, set }: { verification: PulseVerification; set: MoveChanges },
): Work<Session | undefined> {
  const { tenantId } = session
  const { subjectId } = device
  const subjectRef =
    attempt.knownAs ??
    (yield* tables.devices.pairwise({ tenantId, subjectId, subjectRef: attempt.subjectRef }))
  const bonded = yield* tables.sessions.move(session, MOVES.bond, {
    now,
    set: {
      ...set,
      verification,
      subjectRef,
      bondedAt: now,
      expiresAt: bondedUntil(session, now),
    },
  })
  if (bonded === undefined) return undefined
  const mean = verification.continuity_score_long_lived
  yield* tables.sessions.storeContinuity({ tenantId, deviceId: device.id, mean, now })
  if (isInbox(bonded)) yield* tables.sessions.countRequest(bonded, 'approved')
  return bonded
}

/**
 * A bond near the end of a session extends it, and an early one keeps its end. Only a request in an
 * inbox, which may wait for a day, then ends earlier: an approval must not stay usable for so long.
 * Those of a quorum end together.
 */
function bondedUntil(session: Session, now: Instant): Instant {
  if (session.quorumId !== null) return quorumEnd(session)
  const bonded = now + session.bondedTtlMs
  return isInbox(session) ? bonded : Math.max(session.expiresAt, bonded)
}
