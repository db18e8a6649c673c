import { checkNonce, type Nonces } from './challenge.ts'
import { ISSUED_AT_MAX_AGE_MS, ISSUED_AT_MAX_AHEAD_MS, MAX_FAILED_ASSERTIONS } from './lifetimes.ts'
import { accept, type Result, refuse } from './refusal.ts'
import { awaitsPhone, type Device, type Instant, type Session } from './session.ts'
import type { Tenant } from './tenant.ts'

/** What is known when a phone acts on a session. */
export interface PhoneAttempt {
  readonly session: Session
  readonly tenant: Tenant
  readonly device: Device
  /** What this device's subject is called towards this tenant. */
  readonly subjectRef: string
  /** The same, where it has bonded there before. */
  readonly knownAs: string | undefined
  /** The decayed continuity of the device's bonds with this tenant, if it has any. */
  readonly continuity: number | undefined
  /** Assertions of this device on this session that did not verify. */
  readonly failures: number
  readonly nonce: string
  readonly nonces: Nonces
  readonly forClaim?: boolean
}

/**
 * The checks before any cryptography, in protocol 5's order: session live, nonce, device usable and pinned.
 * One list for claim, decline, evidence and attest.
 */
export function checkPhone(attempt: PhoneAttempt, now: Instant): Result<void> {
  const { session, device, nonces, nonce } = attempt
  if (!awaitsPhone(session, now)) return refuse('session_not_live', { step: 'session_live' })
  const pinned = session.deviceId === device.id
  const fresh = checkNonce(session, nonce, {
    now,
    nonces,
    pinned,
    ...(attempt.forClaim ? { forClaim: true } : {}),
  })
  if (!fresh.ok) return fresh
  const usable = checkDevice(attempt, now)
  if (!usable.ok) return usable
  if (session.deviceId !== null && !pinned) return refuse('session_claimed', { step: 'pinned' })
  return accept(undefined)
}

/**
 * Whether this device may serve this session at all. The steps go to the timeline; the phone gets one answer, except
 * for a key that is only too new, because its user can do something about that.
 */
export function checkDevice(
  { session, tenant, device, subjectRef, failures }: PhoneAttempt,
  now: Instant,
): Result<void> {
  const fail = (step: string) => refuse('device_not_usable', { step })
  if (device.status === 'blocked' || device.status === 'removed')
    return fail(`device_${device.status}`)
  if (device.subjectBlocked === true) return fail('subject_blocked')
  if (device.status === 'suspect' && session.policy.suspectDevices === 'refuse')
    return fail('device_suspect')
  // Protocol 6: a key that a laptop can hold proves nothing to a production tenant.
  if (tenant.environment === 'production' && device.environment === 'sandbox')
    return fail('device_environment')
  if (!session.policy.formats.includes(device.format)) return fail('device_format')
  if (session.wantedSubjectRef !== null && session.wantedSubjectRef !== subjectRef)
    return fail('subject_ref')
  if (!acceptsKey(session, device)) return fail('webauthn_unattested')
  if (failures >= MAX_FAILED_ASSERTIONS) return fail('too_many_failures')
  const { minKeyAgeMs = 0 } = session.policy
  if (now - device.createdAt < minKeyAgeMs) return refuse('key_too_new', { step: 'key_age' })
  return accept(undefined)
}

/** Protocol 5: `issued_at` must lie near the service's time; the answer tells it, so that the phone can sign anew. */
export function checkIssuedAt(issuedAt: Instant, now: Instant): Result<void> {
  const inRange = issuedAt >= now - ISSUED_AT_MAX_AGE_MS && issuedAt <= now + ISSUED_AT_MAX_AHEAD_MS
  return inRange
    ? accept(undefined)
    : refuse('issued_at_out_of_range', { param: 'issued_at', step: 'issued_at', serverTime: now })
}

/**
 * Protocol 6: an unattested or synced `webauthn` key proves only that the same key came back. Where the session names
 * its customer that will do for a phone: this key was registered as that one's.
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

/** Protocol 6: whether the policy takes such a key at all. */
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
