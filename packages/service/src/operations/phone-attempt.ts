import { type DeviceId, type SessionId, siteNetworkOf } from '@bonded/contract'
import { DEVICE_MOVES } from '../domain/device-moves.ts'
import { MAX_FAILED_ASSERTIONS } from '../domain/lifetimes.ts'
import type { PhoneAttempt } from '../domain/phone-rules.ts'
import { accept, type Refusal, type Result } from '../domain/refusal.ts'
import type { Device, Session } from '../domain/session.ts'
import { MOVES } from '../domain/transitions.ts'
import type { Tables, Work } from '../ports/store.ts'
import { noncesOf, type Service } from './service.ts'
import { recordDeviceChange } from './record-device-change.ts'

/** All the facts that the rules for phones ask for; undefined where there is no such session. */
export function* loadAttempt(
  service: Service,
  tables: Tables,
  of: { id: SessionId; device: Device; nonce: string },
): Work<PhoneAttempt | undefined> {
  const { id, device, nonce } = of
  const session = yield* tables.sessions.find(id)
  if (session === undefined || !service.keys.holds(session.rootKeyId)) return undefined
  const tenant = yield* tables.tenants.find(session.tenantId)
  // As it stands now: an operator may have blocked it since the request was authenticated.
  const current = yield* tables.devices.find(device.id)
  if (tenant === undefined || current === undefined) return undefined
  const { failures, subjectRef, continuity } = yield* tables.sessions.deviceStats(session, device)
  return {
    session,
    tenant,
    device: current,
    knownAs: subjectRef,
    // Stored at its first bond, derived until then.
    subjectRef: subjectRef ?? service.keys.subjectRef(session.tenantId, device.subjectId),
    continuity,
    failures,
    nonce,
    nonces: noncesOf(service, session),
  }
}

/** Writes down why a phone was refused. The phone hears less; the tenant's timeline names the step. */
export function* noteRefusal(
  tables: Tables,
  id: SessionId,
  { refusal, deviceId, now }: { refusal: Refusal; deviceId: DeviceId; now: number },
): Work<void> {
  yield* tables.sessions.note(id, {
    at: now,
    kind: 'refused',
    reason: refusal.reason,
    step: refusal.step ?? null,
    by: deviceId,
  })
}

/**
 * Notes in the timeline that the phone that takes a session calls from another network than the
 * browser. A phone on mobile data does so too: it is a hint for a review and never a rejection.
 * Addresses of different families cannot be compared. Neither address is stored.
 */
export function* noteNetwork(
  tables: Tables,
  before: Session,
  { address, deviceId, now }: { address: string; deviceId: DeviceId; now: number },
): Work<void> {
  // Once a session: when it is pinned.
  if (before.deviceId !== null || before.endUserNetwork === null) return
  const network = siteNetworkOf(address)
  if (network === undefined || network === before.endUserNetwork) return
  if (network.includes(':') !== before.endUserNetwork.includes(':')) return
  yield* tables.sessions.note(before.id, {
    at: now,
    kind: 'note',
    reason: 'network_differs',
    by: deviceId,
  })
}

/** Refuses, and writes down why. */
export function* refuseNoted(
  tables: Tables,
  id: SessionId,
  of: { refusal: Refusal; deviceId: DeviceId; now: number },
): Work<Result<never>> {
  yield* noteRefusal(tables, id, of)
  return { ok: false, refusal: of.refusal }
}

/**
 * Raises the counter of a key by an assertion that verified. One that does not rise is refused; where it was signed
 * after all that were taken, another phone holds the key too, and the device is suspect from then on.
 */
export function* raiseCounter(
  tables: Tables,
  of: { id: SessionId; device: Device; counter: number; issuedAt: number; now: number },
): Work<Result<void>> {
  const { id, device, counter, issuedAt, now } = of
  if (yield* tables.devices.raiseCounter(device.id, counter, issuedAt)) return accept(undefined)
  const refused = yield* refuseNoted(tables, id, {
    refusal: { reason: 'assertion_invalid', step: 'counter' },
    deviceId: device.id,
    now,
  })
  if (yield* tables.devices.suspect(device.id, issuedAt)) {
    const change = { at: now, kind: DEVICE_MOVES.suspect.to, step: 'counter' }
    const holds = yield* recordDeviceChange(tables, device.id, change)
    // A phone that has claimed nothing may try a session that it does not hold.
    if (!holds.some((session) => session.id === id))
      yield* tables.sessions.note(id, {
        at: now,
        kind: 'note',
        reason: 'device_suspect',
        step: 'counter',
      })
  }
  return refused
}

/** The checks whose failure is counted towards the five (protocol 4): what only a forger gets wrong. */
const COUNTED_STEPS: readonly string[] = ['client_data_hash', 'signature', 'app_id', 'evidence_mac']

/**
 * Writes down an assertion that did not verify, and counts it. The pinned phone's fifth ends the session;
 * another phone's fifth only shuts that phone out, or anybody who saw the code could end it.
 */
export function* noteInvalidAssertion(
  tables: Tables,
  of: { id: SessionId; deviceId: DeviceId; refusal: Refusal; now: number },
): Work<void> {
  const { id, deviceId, refusal, now } = of
  yield* noteRefusal(tables, id, { refusal, deviceId, now })
  if (refusal.step === undefined || !COUNTED_STEPS.includes(refusal.step)) return
  const failures = yield* tables.sessions.countFailure(id, deviceId)
  const session = yield* tables.sessions.find(id)
  if (failures >= MAX_FAILED_ASSERTIONS && session?.deviceId === deviceId)
    yield* tables.sessions.move(session, MOVES.failAttempts, { now })
}
