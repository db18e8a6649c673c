import { checkNonce, type Nonces } from './challenge.ts'
import { ISSUED_AT_MAX_AGE_MS, ISSUED_AT_MAX_AHEAD_MS, MAX_FAILED_ASSERTIONS } from './lifetimes.ts'
import { accept, type Result, refuse } from './refusal.ts'
import { awaitsPhone, type Device, type Instant, type Session } from './session.ts'
import type { Tenant } from './tenant.ts'

/** The facts about a phone's call on a session. */
export interface PhoneAttempt {
  /** When the facts were read. The call is decided by this instant. */
  readonly now: Instant
  readonly session: Session
  readonly tenant: Tenant
  readonly device: Device
  /** The tenant's pseudonym for the device's subject. */
  readonly subjectRef: string
  /** The same, if the subject has bonded at the tenant. */
  readonly knownAs: string | undefined
  /** The decayed continuity of the device's bonds with this tenant, if it has any. */
  readonly continuity: number | undefined
  /** Invalid assertions of this device on this session. */
  readonly failures: number
  readonly nonce: string
  readonly nonces: Nonces
  readonly forClaim?: boolean
}

/**
 * Runs the checks that need no cryptography, in the order of protocol 5: session live, nonce,
 * device usable and pinned. Claim, decline, evidence and attest share them.
 */
export function checkPhone(attempt: PhoneAttempt): Result<void> {
  const { session, device, nonces, nonce, now } = attempt
  if (!awaitsPhone(session, now)) return refuse('session_not_live', { step: 'session_live' })
  const pinned = session.deviceId === device.id
  const fresh = checkNonce(session, nonce, {
    now,
    nonces,
    pinned,
    ...(attempt.forClaim ? { forClaim: true } : {}),
  })
  if (!fresh.ok) return fresh
  const usable = checkDevice(attempt)
  if (!usable.ok) return usable
  if (session.deviceId !== null && !pinned) return refuse('session_claimed', { step: 'pinned' })
  return accept(undefined)
}

/**
 * Checks whether this device may serve this session. Timelines record the steps. The phone gets one
 * answer for all of them, except for a key that is not attested or too new: its user can act on
 * those.
 */
export function checkDevice({
  session,
  tenant,
  device,
  subjectRef,
  failures,
  now,
}: PhoneAttempt): Result<void> {
  const fail = (step: string) => refuse('device_not_usable', { step })
  if (device.status === 'blocked' || device.status === 'removed')
    return fail(`device_${device.status}`)
  if (device.subjectBlocked === true) return fail('subject_blocked')
  if (device.status === 'suspect' && session.policy.suspectDevices === 'refuse')
    return fail('device_suspect')
  // Protocol 6: a software key proves nothing to a production tenant.
  if (tenant.environment === 'production' && device.environment === 'sandbox')
    return fail('device_environment')
  if (!session.policy.formats.includes(device.format)) return fail('device_format')
  if (session.wantedSubjectRef !== null && session.wantedSubjectRef !== subjectRef)
    return fail('subject_ref')
  if (failures >= MAX_FAILED_ASSERTIONS) return fail('too_many_failures')
  if (!acceptsKey(session, device))
    return refuse('key_not_attested', { step: 'webauthn_unattested' })
  const { minKeyAgeMs = 0 } = session.policy
  if (now - device.createdAt < minKeyAgeMs) return refuse('key_too_new', { step: 'key_age' })
  return accept(undefined)
}

/**
 * Protocol 5: checks that `issued_at` is near the service's time. The refusal carries that time, so
 * that the phone can sign again.
 */
export function checkIssuedAt(issuedAt: Instant, now: Instant): Result<void> {
  const inRange = issuedAt >= now - ISSUED_AT_MAX_AGE_MS && issuedAt <= now + ISSUED_AT_MAX_AHEAD_MS
  return inRange
    ? accept(undefined)
    : refuse('issued_at_out_of_range', { param: 'issued_at', step: 'issued_at', serverTime: now })
}

/**
 * Whether the key attests a phone. Protocol 6: an unattested or synced `webauthn` key proves only
 * that the same key returned. If the session names its subject, that suffices: this key was
 * registered for that subject.
 */
export function attestsPhone(
  session: Pick<Session, 'wantedSubjectRef'>,
  device: Pick<Device, 'format' | 'webauthn'>,
): boolean {
  return (
    device.format !== 'webauthn' ||
    device.webauthn?.attested === true ||
    session.wantedSubjectRef !== null
  )
}

/** Whether the session rejects a new `webauthn` key that has no attestation. */
export function needsAttestedKey(session: Pick<Session, 'policy' | 'wantedSubjectRef'>): boolean {
  return !acceptsKey(session, {
    format: 'webauthn',
    webauthn: { attested: false, backupEligible: true },
  })
}

/** Protocol 6: checks whether the policy accepts this kind of key. */
export function acceptsKey(
  session: Pick<Session, 'policy' | 'wantedSubjectRef'>,
  device: Pick<Device, 'format' | 'webauthn'>,
): boolean {
  if (device.format !== 'webauthn' || device.webauthn?.attested === true) return true
  switch (session.policy.webauthn) {
    case 'any':
      return true
    case 'known':
      return attestsPhone(session, device)
    case 'attested':
      return false
  }
}
