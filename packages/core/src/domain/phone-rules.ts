import { DIRECTIONAL_MARKS, needsIsolation } from '@bonded/contract'
import { requiresBrowser } from './browser-leg.ts'
import { checkNonce, type Nonces } from './challenge.ts'
import { ISSUED_AT_MAX_AGE_MS, ISSUED_AT_MAX_AHEAD_MS, MAX_FAILED_ASSERTIONS } from './lifetimes.ts'
import { acceptsKey, isAttested } from './key-rules.ts'
import { accept, type Result, reject } from './rejection.ts'
import { awaitsPhone, type Device, type Instant, type Session } from './session.ts'
import { isNewlyAdded } from './subject-keys.ts'
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
  /** Whether the tenant has blocked the device's subject. */
  readonly subjectBlockedHere: boolean
  /** The decayed continuity of the device's bonds with this tenant; undefined without a bond. */
  readonly continuity: number | undefined
  /** Whether a bond of the device with this tenant was completed. */
  readonly hasCompleted: boolean
  /** Whether an older phone of the subject is active, where the rules need to know it. */
  readonly olderPhone: boolean
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
  if (!awaitsPhone(session, now)) return reject('session_not_live', { step: 'session_live' })
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
  if (session.deviceId !== null && !pinned) return reject('session_claimed', { step: 'pinned' })
  return accept(undefined)
}

/**
 * Checks whether this device may serve this session. Timelines record the steps. The phone gets one
 * answer for all of them, except for a key of another format, one that is not attested, and one
 * that is too new: its user can act on those.
 */
export function checkDevice(attempt: PhoneAttempt): Result<void> {
  const { session, tenant, device, subjectRef, failures, now } = attempt
  const fail = (step: string) => reject('device_not_usable', { step })
  if (device.status === 'blocked' || device.status === 'removed')
    return fail(`device_${device.status}`)
  if (device.subjectBlocked === true) return fail('subject_blocked')
  if (attempt.subjectBlockedHere) return fail('subject_blocked_by_tenant')
  if (device.status === 'suspect' && session.policy.suspectDevices === 'refuse')
    return fail('device_suspect')
  // Protocol 6: a software key proves nothing to a production tenant.
  if (tenant.environment === 'production' && device.environment === 'sandbox')
    return fail('device_environment')
  if (!session.policy.formats.includes(device.format))
    return reject('key_format_not_accepted', {
      step: 'device_format',
      detail: `It accepts ${session.policy.formats.join(', ')}.`,
    })
  if (session.wantedSubjectRef !== null && session.wantedSubjectRef !== subjectRef)
    return fail('subject_ref')
  if (attempt.olderPhone) return fail('older_phone_active')
  if (failures >= MAX_FAILED_ASSERTIONS) return fail('too_many_failures')
  if (!acceptsKey(attempt)) return reject('key_not_attested', { step: 'webauthn_unattested' })
  const { minKeyAgeMs = 0 } = session.policy
  // Otherwise a relayed approval of a further phone would be as good as a relayed bond.
  if (requiresBrowser(session.policy) && isNewlyAdded(device, now))
    return reject('key_too_new', { step: 'key_age' })
  if (now - device.createdAt < minKeyAgeMs) return reject('key_too_new', { step: 'key_age' })
  return accept(undefined)
}

/**
 * Checks whether the phone has a key that can answer in the browser, where the workflow requires
 * one, or registers one with its approval. Otherwise the user would approve in vain. Authenticators
 * of phones attest only keys that are not discoverable, so other devices may be unable to use them.
 *
 * A claim is rejected with a reason that apps knew before the proof of the browser, so that they
 * say that this phone cannot approve the request. Newer apps read `param`.
 */
export function checkBrowserKey(
  { session, device, forClaim }: Pick<PhoneAttempt, 'session' | 'device' | 'forClaim'>,
  isBrought: boolean,
): Result<void> {
  const isReady = device.browserKey !== undefined || isDiscoverable(device)
  if (!requiresBrowser(session.policy) || isBrought || isReady) return accept(undefined)
  const step = 'browser_key'
  return forClaim === true
    ? reject('key_format_not_accepted', {
        param: 'browser_key',
        step,
        detail: 'It needs a passkey for the browser too. Register one, or open the link instead.',
      })
    : reject('browser_key_required', { step })
}

/**
 * Checks whether the phone shows the context as it is meant. A phone that does not isolate a value
 * with directional marks could draw its neighbors in another order. The reason is one that older
 * apps know.
 */
export function checkShown(
  { session }: Pick<PhoneAttempt, 'session'>,
  shows: readonly string[],
): Result<void> {
  const display = session.context?.display ?? []
  if (!needsIsolation(display) || shows.includes(DIRECTIONAL_MARKS)) return accept(undefined)
  return reject('key_format_not_accepted', {
    param: 'shows',
    step: 'shows',
    detail: 'Its text has directional marks, which this app does not show. Open the link instead.',
  })
}

function isDiscoverable(device: Device): boolean {
  return device.format === 'webauthn' && !isAttested(device)
}

/**
 * Protocol 5: checks that `issued_at` is near the service's time. The rejection carries that time,
 * so that the phone can sign again.
 */
export function checkIssuedAt(issuedAt: Instant, now: Instant): Result<void> {
  const inRange = issuedAt >= now - ISSUED_AT_MAX_AGE_MS && issuedAt <= now + ISSUED_AT_MAX_AHEAD_MS
  return inRange
    ? accept(undefined)
    : reject('issued_at_out_of_range', { param: 'issued_at', step: 'issued_at', serverTime: now })
}
