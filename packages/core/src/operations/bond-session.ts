import type { PulseVerification } from '@bonded/contract'
import type { MoveChanges } from '../domain/changes.ts'
import type { Session } from '../domain/session.ts'
import type { SessionFacts } from '../protocol/facts.ts'
import { MOVES } from '../protocol/states.ts'
import type { Tables } from '../ports/store.ts'
import type { Work } from '../ports/work.ts'

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
      // Never earlier: a bond near the session's end extends it, an early bond keeps its expiry.
      expiresAt: Math.max(session.expiresAt, now + session.bondedTtlMs),
    },
  })
  if (bonded === undefined) return undefined
  const mean = verification.continuity_score_long_lived
  yield* tables.sessions.storeContinuity({ tenantId, deviceId: device.id, mean, now })
  return bonded
}
