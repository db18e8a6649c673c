import {
  canonicalJson,
  deviceAddPayload,
  type DeviceRegistration,
  type KeyApproval,
  makeId,
  type RegisterDeviceRequest,
} from '@bonded/contract'
import { DEVICE_CHALLENGE_TTL_MS } from '../../domain/lifetimes.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Device, Instant } from '../../domain/session.ts'
import { MAX_KEYS_PER_SUBJECT, mayApprove } from '../../domain/subject-keys.ts'
import type { KeyReceipt, RegisteredKey } from '../../ports/devices.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import {
  type NewBrowserKey,
  rejectUndone,
  storeBrowserKey,
  UnitRejected,
  verifyBrowserKey,
} from './browser-key.ts'
import { type DeviceRequest, checkDeviceRequest, takeDeviceRequest } from './device-request.ts'
import { createDeviceToken, type NewDeviceToken } from './device-token.ts'
import { recordSubjectChange } from './record-device-change.ts'
import type { PhoneCaller, Service } from '../service.ts'

/** A registered device and its first token. */
export interface Registered {
  readonly device: Device
  readonly made: NewDeviceToken
}

/** Issues a registration challenge. It authenticates itself, so nothing is stored. */
export function challengeDevice(service: Service): { challenge: string; expiresAt: Instant } {
  const expiresAt = service.clock.now() + DEVICE_CHALLENGE_TTL_MS
  return { challenge: service.keys.deviceChallenge(expiresAt), expiresAt }
}

/**
 * Registers a phone's key. Without a device token it is the first key of a new subject. With a
 * token it is a further key of the token's subject, and the token's device must have approved it by
 * an assertion over the registration.
 */
export async function registerDevice(
  service: Service,
  caller: PhoneCaller | { readonly kind: 'anonymous' },
  { approval, ...signed }: RegisterDeviceRequest,
): Promise<Result<Registered>> {
  const { browser_key: credential, ...registration } = signed
  const verified = approvalOf(service, caller, { approval, registration: signed })
  if (!verified.ok) return verified
  const approved = verified.value
  if (approved !== undefined) {
    // Before the attestation, which costs far more. The store checks the approval again and uses it
    // up.
    const checked = checkDeviceRequest(service, approved)
    if (!checked.ok) return checked
  }
  const expiresAt = service.keys.deviceChallengeExpiry(registration.challenge)
  if (expiresAt === undefined || service.clock.now() >= expiresAt)
    return reject('challenge_not_usable', { param: 'challenge' })
  const proved = await prove(service, registration)
  if (!proved.ok) return proved
  const key = proved.value
  if (
    approved !== undefined &&
    !mayApprove(approved.device, { ...key, format: registration.format })
  )
    return reject('approving_key_too_weak')

  const { challenge } = registration
  const browserKey: Result<NewBrowserKey | undefined> =
    credential === undefined
      ? accept(undefined)
      : verifyBrowserKey(service, { challenge, registration: credential })
  if (!browserKey.ok) return browserKey
  const made = createDeviceToken(service)
  const device = newDevice(service, { registration, key, approver: approved?.device })
  return service.store
    .write(function* (tables): Work<Result<Registered>> {
      const stored =
        approved === undefined
          ? yield* storeFirstKey(tables, device, made)
          : yield* storeFurtherKey(service, tables, { device, made, approved })
      if (!stored.ok) return stored
      // After the key, so that a rejected key does not use the challenge up.
      if (!(yield* tables.devices.useChallenge(registration.challenge, expiresAt)))
        throw new UnitRejected({ reason: 'challenge_not_usable', param: 'challenge' })
      yield* recordRegistration(tables, device, key.receipt)
      yield* storeBrowserKey(tables, device, browserKey.value, { isChallengeUsed: true })
      return accept({ device, made })
    })
    .catch(rejectUndone)
}

/**
 * Returns the request that the caller's device must have signed; undefined for the first key of a
 * subject.
 */
function approvalOf(
  service: Service,
  caller: PhoneCaller | { readonly kind: 'anonymous' },
  input: {
    approval: KeyApproval | undefined
    /** The registration of a browser key: the approval covers it too. */
    registration: Omit<RegisterDeviceRequest, 'approval'>
  },
): Result<DeviceRequest | undefined> {
  const { approval, registration } = input
  // An approval without a token names no device. A new subject is not what the caller wants.
  if (caller.kind === 'anonymous')
    return approval === undefined ? accept(undefined) : reject('credential_missing')
  if (approval === undefined) return reject('key_approval_required', { param: 'approval' })
  const { device } = caller
  const payload = deviceAddPayload({
    challenge: registration.challenge,
    format: registration.format,
    registration: service.keys.sha256(canonicalJson(registration)),
    device_id: device.id,
    subject_id: device.subjectId,
    issued_at: approval.issued_at,
    origin: service.settings.publicOrigin,
  })
  return accept({ call: 'add', device, payload, signed: approval })
}

function newDevice(
  { clock, random }: Service,
  input: { registration: DeviceRegistration; key: RegisteredKey; approver: Device | undefined },
): Device {
  const { registration, key, approver } = input
  const { keyId, publicKey, environment, appId, counter = 0, webauthn, build } = key
  return {
    id: makeId('dev', random.id()),
    subjectId: approver?.subjectId ?? makeId('sub', random.id()),
    format: registration.format,
    keyId,
    publicKey,
    environment,
    appId,
    status: 'active',
    counter,
    lastIssuedAt: null,
    createdAt: clock.now(),
    addedBy: approver?.id ?? null,
    webauthn,
    build,
  }
}

function* storeFirstKey(
  tables: Tables,
  device: Device,
  { row }: NewDeviceToken,
): Work<Result<void>> {
  return (yield* tables.devices.register(device, row))
    ? accept(undefined)
    : reject('key_already_registered')
}

/** Uses the approval up, stores the key, and notifies the other devices of the subject. */
function* storeFurtherKey(
  service: Service,
  tables: Tables,
  input: { device: Device; made: NewDeviceToken; approved: DeviceRequest },
): Work<Result<void>> {
  const { device, made, approved } = input
  const taken = yield* takeDeviceRequest(service, tables, approved)
  if (!taken.ok) return taken
  if (!(yield* tables.devices.addKey(device, made.row, MAX_KEYS_PER_SUBJECT))) {
    const keys = yield* tables.subjects.keys(device.subjectId)
    return reject(keys.length >= MAX_KEYS_PER_SUBJECT ? 'too_many_keys' : 'key_already_registered')
  }
  yield* recordSubjectChange(tables, device.subjectId, {
    at: service.clock.now(),
    kind: 'key_added',
    step: 'phone',
    except: device.id,
  })
  return accept(undefined)
}

function* recordRegistration(
  tables: Tables,
  device: Device,
  receipt: KeyReceipt | undefined,
): Work<void> {
  if (receipt !== undefined) yield* tables.devices.keepReceipt(device.id, receipt)
  const step = device.addedBy === null ? null : 'approved'
  yield* tables.devices.record(device.id, { at: device.createdAt, kind: 'registered', step })
}

/** Calls the attestation verifier of the registration's format. */
function prove(
  { attestationVerifiers }: Service,
  registration: DeviceRegistration,
): Promise<Result<RegisteredKey>> | Result<RegisteredKey> {
  const notEnabled = reject('format_not_enabled', { param: 'format' })
  switch (registration.format) {
    case 'apple-app-attest':
      return attestationVerifiers[registration.format]?.verify(registration) ?? notEnabled
    case 'android-key':
      return attestationVerifiers[registration.format]?.verify(registration) ?? notEnabled
    case 'webauthn':
      return attestationVerifiers[registration.format]?.verify(registration) ?? notEnabled
    case 'software':
      return attestationVerifiers[registration.format]?.verify(registration) ?? notEnabled
  }
}
