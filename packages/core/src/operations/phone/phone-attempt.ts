import { type DeviceId, type SessionId, siteNetworkOf } from '@bonded/contract'
import { once } from '../../collections/once.ts'
import { isLatestNonce, nonceStanding } from '../../domain/challenge.ts'
import { DEVICE_MOVES } from '../../domain/device-moves.ts'
import { MAX_FAILED_ASSERTIONS } from '../../domain/lifetimes.ts'
import type { Rejection, Result } from '../../domain/rejection.ts'
import type { Device } from '../../domain/session.ts'
import { hasOlderPhone } from '../../domain/subject-keys.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import type { PhoneFacts, SessionFacts } from '../../protocol/facts.ts'
import type { Failure } from '../../protocol/run-checks.ts'
import { MOVES } from '../../protocol/states.ts'
import { expireIfOverdue } from '../session/find-and-expire.ts'
import { noncesFor, type Service } from '../service.ts'
import { recordDeviceChange } from '../device/record-device-change.ts'

/** A phone's call on a session. */
interface PhoneCall {
  readonly id: SessionId
  readonly device: Device
  readonly nonce: string
  /** Whether the call is a claim, which may present a newer nonce than the phone's last one. */
  readonly forClaim?: boolean
}

/** Loads the facts of a phone's call; undefined if the session does not exist. */
export function* loadAndExpireAttempt(
  service: Service,
  tables: Tables,
  { id, device, nonce, forClaim = false }: PhoneCall,
): Work<PhoneFacts | undefined> {
  // The device again, because an operator may have blocked it since the request was authenticated.
  // Its subject is locked before the session is read: of two copies of a call the later one must
  // read the session as the earlier one has left it.
  const rows = yield* tables.phoneRows(id, device)
  if (rows === undefined || !service.keys.holds(rows.session.rootKeyId)) return undefined
  const { device: current, session, tenant, stats } = rows
  const { failures, subjectRef, subjectBlocked, continuity, hasCompleted } = stats
  // Only an added phone that would be the first of its subject at an account needs the other keys.
  const olderPhone =
    session.wantedSubjectRef === null &&
    (current.addedBy ?? null) !== null &&
    hasOlderPhone(current, yield* tables.subjects.keys(current.subjectId))
  // Last, because each statement takes time, and a statement may wait for a row that another node
  // has locked.
  const now = service.clock.now()
  const stored = yield* expireIfOverdue(service, tables, session, now)
  const nonces = noncesFor(service, stored, current)
  const pinned = stored.deviceId === current.id
  return {
    now,
    session: stored,
    tenant,
    device: current,
    knownAs: subjectRef,
    subjectBlockedHere: subjectBlocked,
    // Stored at the subject's first bond with the tenant, derived until then.
    subjectRef: subjectRef ?? service.keys.subjectRef(session.tenantId, device.subjectId),
    continuity,
    hasCompleted,
    olderPhone,
    failures,
    nonce,
    nonces,
    isLatestNonce: () => isLatestNonce(stored, nonce, { now, nonces }),
    nonceStanding: once(() => nonceStanding(stored, nonce, { now, nonces, pinned, forClaim })),
  }
}

/**
 * Notes in the timeline that the phone that takes a session calls from another network than the
 * browser. A phone on mobile data does so too: it is a hint for a review and never a rejection.
 * Addresses of different families cannot be compared. Neither address is stored.
 */
export function* recordNetworkDifference(
  tables: Tables,
  { session: before, device, now }: SessionFacts,
  address: string,
): Work<void> {
  // Once per session: when it is pinned.
  if (before.deviceId !== null || before.endUserNetwork === null) return
  const network = siteNetworkOf(address)
  if (network === undefined || network === before.endUserNetwork) return
  if (network.includes(':') !== before.endUserNetwork.includes(':')) return
  yield* tables.sessions.note(before.id, {
    at: now,
    kind: 'note',
    reason: 'network_differs',
    by: device.id,
  })
}

/** Rejects the call and records why. The timeline names the step, the response does not. */
export function* rejectAndRecord(
  tables: Tables,
  { session, device, knownAs, now }: SessionFacts,
  rejection: Rejection,
): Work<Result<never>> {
  yield* tables.sessions.note(session.id, {
    subjectRef: knownAs,
    at: now,
    kind: 'refused',
    reason: rejection.reason,
    step: rejection.step ?? null,
    by: device.id,
  })
  return { ok: false, rejection }
}

/**
 * Rejects a call at the check that it failed, and records why. If an assertion whose counter did
 * not rise was signed after all accepted ones, another phone has a copy of the key, and the device
 * becomes suspect.
 */
export function* rejectAndSuspect(
  tables: Tables,
  attempt: SessionFacts,
  { check, rejection, issuedAt }: Failure & { readonly issuedAt: number },
): Work<Result<never>> {
  const { session, device, now } = attempt
  const rejected = yield* rejectAndRecord(tables, attempt, rejection)
  if (check.suspects && (yield* tables.devices.suspect(device.id, issuedAt))) {
    const { step } = check
    const change = { at: now, kind: DEVICE_MOVES.suspect.to, step }
    const holds = yield* recordDeviceChange(tables, device.id, change)
    // A phone that has claimed nothing may try a session that is pinned to another phone.
    if (!holds.some(({ id }) => id === session.id))
      yield* tables.sessions.note(session.id, {
        at: now,
        kind: 'note',
        reason: 'device_suspect',
        step,
      })
  }
  return rejected
}

/**
 * Resets the hint after a rejected assertion or an evaluation that failed: the page then shows
 * “Check your phone” again. Only the phone that holds the session does so, so that another one
 * cannot fill the timeline.
 */
export function* endEvaluation(
  tables: Tables,
  { id, deviceId, now }: { id: SessionId; deviceId: DeviceId; now: number },
): Work<void> {
  const session = yield* tables.sessions.find(id)
  if (session?.deviceId === deviceId && session.hint === 'evaluating')
    yield* tables.sessions.hint(session, 'scanned', now)
}

/**
 * Does the same, and counts a failure that only a forger has. The pinned phone's fifth ends the
 * session. Another phone's fifth only excludes that phone; otherwise every observer of the QR code
 * could end the session.
 */
export function* rejectAndCount(
  tables: Tables,
  attempt: SessionFacts,
  failure: Failure & { readonly issuedAt: number },
): Work<Result<never>> {
  const { device, now } = attempt
  const { id } = attempt.session
  const rejected = yield* rejectAndSuspect(tables, attempt, failure)
  if (!failure.check.counts) return rejected
  const failures = yield* tables.sessions.countFailure(id, device.id)
  const session = yield* tables.sessions.find(id)
  if (failures >= MAX_FAILED_ASSERTIONS && session?.deviceId === device.id)
    yield* tables.sessions.move(session, MOVES.failAttempts, { now })
  return rejected
}
