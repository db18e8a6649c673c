import {
  deviceAddPayload,
  type DeviceRegistration,
  deviceRemovePayload,
  type KeyApproval,
  LIST_KEYS,
  parseId,
  REGISTER_DEVICE,
  REMOVE_DEVICE,
  type RemoveDeviceRequest,
  Secret,
  type SubjectKey,
} from '@bonded/contract'
import { signPayload } from '../assertion.ts'
import { hashOf } from '../bytes.ts'
import { type PhoneDevice, registrationOf } from '../device.ts'
import { isRejection, PhoneError } from '../errors.ts'
import type { Waiting } from '../ports.ts'
import { type ServerTime, syncTo, timestampAt } from '../server-time.ts'
import { call } from '../service/call.ts'
import { readKeys, readRegistered } from '../service/read-response.ts'
import { withServerTime } from '../service/resync.ts'
import { withRetry } from '../service/retry.ts'
import type { PhoneDependencies } from '../session/claimed-session.ts'

/** A key of the phone's subject. */
export interface ListedKey extends SubjectKey {
  /** Whether it is this phone's own. */
  readonly own: boolean
}

/**
 * A key that another phone has approved, for its own phone to store. The token prints as
 * `[secret]`.
 */
export type AddedKey = Omit<PhoneDevice, 'format'>

/**
 * The keys of the phone's subject, oldest first. Show them to the user: an unknown key may be an
 * attacker's.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `cancelled`
 */
export async function listKeys(
  phone: PhoneDependencies,
  device: PhoneDevice,
  waiting: Waiting,
): Promise<readonly ListedKey[]> {
  return (await fetchKeys(phone, device, waiting)).keys
}

/**
 * Approves a further key for the phone's subject, and registers it. Call it only after the user
 * agreed, because the holder of that key acts for the user from then on.
 *
 * @param registration the result of `proposeKey` on the other phone, transferred by the user (for
 * example as a QR code)
 * @throws {PhoneError} `refused` (`approving_key_too_weak`, `too_many_keys`,
 * `key_already_registered` after a lost response: propose a new key), `unreachable`,
 * `answer_unreadable`, `counter_exhausted`, `cancelled`
 */
export async function addKey(
  phone: PhoneDependencies,
  device: PhoneDevice,
  { registration, signal }: Waiting & { readonly registration: DeviceRegistration },
): Promise<AddedKey> {
  const { server_time } = await fetchKeys(phone, device, { signal })
  const { device_id, subject_id, key_id, device_token, device_token_renew_at } =
    await withServerTime(phone, server_time, (time) =>
      call(phone, REGISTER_DEVICE, {
        parameters: {},
        device,
        body: async () => ({
          ...registration,
          approval: await approvalOf(phone, { device, registration, server_time: time }),
        }),
        read: readRegistered,
        signal,
      }),
    )
  return {
    origin: phone.origin,
    device_id,
    subject_id,
    key_id,
    device_token: new Secret(device_token),
    token_renew_at: device_token_renew_at,
  }
}

/**
 * The registration of this phone's key, for a registered phone to approve within five minutes.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`
 */
export function proposeKey(phone: PhoneDependencies): Promise<DeviceRegistration> {
  return withRetry(() => registrationOf(phone), phone)
}

/**
 * Stores the key that another phone has added for this one.
 *
 * @throws {PhoneError} `origin_not_usable` where it was added at another service
 */
export async function acceptKey(
  { origin, signer, store }: PhoneDependencies,
  added: AddedKey,
): Promise<PhoneDevice> {
  if (added.origin !== origin) throw new PhoneError('origin_not_usable', { reason: 'origin_other' })
  const device: PhoneDevice = {
    ...added,
    ...(signer.format === 'webauthn' ? { rp_id: added.rp_id ?? signer.rpId } : {}),
    format: signer.format ?? 'software',
  }
  await store.keep(device)
  return device
}

/**
 * Removes a key of the phone's subject, or only its browser key. A phone that removes its own key
 * must clear its store.
 *
 * @throws {PhoneError} `refused` (`device_not_found`, `device_not_usable`), `unreachable`,
 * `answer_unreadable`, `counter_exhausted`, `cancelled`
 */
export async function removeKey(
  phone: PhoneDependencies,
  device: PhoneDevice,
  {
    device_id,
    purpose,
    signal,
  }: Waiting & { readonly device_id: string; readonly purpose?: 'browser' },
): Promise<void> {
  if (parseId('dev', device_id) === undefined)
    throw new PhoneError('refused', { reason: 'device_not_found' })
  const { server_time } = await fetchKeys(phone, device, { signal })
  // When the response to the first attempt was lost, the second one does not find the key.
  const isOwn = device_id === device.device_id && purpose === undefined
  const removed = isOwn ? 'credential_invalid' : 'device_not_found'
  await withServerTime(phone, server_time, (time) =>
    call(phone, REMOVE_DEVICE, {
      parameters: { device_id },
      device,
      body: () => removalOf(phone, { device, device_id, purpose, server_time: time }),
      read: () => true,
      afterLostResponse: async (rejection) => isRejection(rejection, removed) || undefined,
      signal,
    }),
  )
}

async function fetchKeys(phone: PhoneDependencies, device: PhoneDevice, { signal }: Waiting) {
  const { server_time, keys } = await call(phone, LIST_KEYS, {
    parameters: {},
    device,
    read: readKeys,
    signal,
  })
  return {
    server_time: syncTo(server_time, phone.clock),
    keys: keys.map((key): ListedKey => ({ ...key, own: key.device_id === device.device_id })),
  }
}

async function approvalOf(
  phone: PhoneDependencies,
  request: { device: PhoneDevice; registration: DeviceRegistration; server_time: ServerTime },
): Promise<KeyApproval> {
  const { device, registration, server_time } = request
  const issued_at = timestampAt(server_time, phone.clock.now())
  const payload = deviceAddPayload({
    challenge: registration.challenge,
    format: registration.format,
    registration: await hashOf(phone.sha256, registration),
    device_id: device.device_id,
    subject_id: device.subject_id,
    issued_at,
    origin: phone.origin,
  })
  return { issued_at, app_attest: await signPayload(phone, { payload, key: device }) }
}

async function removalOf(
  phone: PhoneDependencies,
  request: {
    device: PhoneDevice
    device_id: string
    purpose: 'browser' | undefined
    server_time: ServerTime
  },
): Promise<RemoveDeviceRequest> {
  const { device, device_id: removed_device_id, purpose, server_time } = request
  const issued_at = timestampAt(server_time, phone.clock.now())
  const payload = deviceRemovePayload({
    purpose,
    removed_device_id,
    device_id: device.device_id,
    subject_id: device.subject_id,
    issued_at,
    origin: phone.origin,
  })
  const app_attest = await signPayload(phone, { payload, key: device })
  return { issued_at, app_attest, ...(purpose && { purpose }) }
}
