import {
  CHALLENGE_DEVICE,
  decodeBase64url,
  type DeviceChallenge,
  type DeviceFormat,
  type DeviceRegistration,
  encodeBase64url,
  REGISTER_DEVICE,
  type RegisteredDevice,
  Secret,
} from '@bonded/contract'
import { isRejection, PhoneError } from './errors.ts'
import type { FetchLike, PhoneClock, PhoneStore, Signer } from './ports.ts'
import type { KeyRequirement } from './signers/webauthn.ts'
import { call } from './service/call.ts'
import { readChallenge, readRegistered } from './service/read-response.ts'

/** A key that is registered with one service. Its token prints as `[secret]`. */
export interface PhoneDevice {
  readonly origin: string
  readonly device_id: string
  readonly subject_id: string
  readonly device_token: Secret
  /** When to renew the token, in the service's time. Undefined if an older service omitted it. */
  readonly token_renew_at?: string | undefined
  /** The key's id as the service returned it. Every assertion carries it. */
  readonly key_id: string
  /** The relying party id of a `webauthn` key. A key works with this one only. */
  readonly rp_id?: string | undefined
  readonly format: DeviceFormat
}

/** The dependencies of a registration. */
export interface RegistrationDependencies {
  readonly origin: string
  readonly signer: Signer
  readonly store: PhoneStore
  readonly fetch: FetchLike
  readonly clock: PhoneClock
}

/**
 * The device of this origin: the stored one, or a newly registered one. A registration whose
 * response is lost leaves a key that the service knows and the phone does not. The service then
 * rejects the repetition with `key_already_registered`, and the phone needs a new key.
 *
 * @param requirement returns which key the session needs; called only if a key is made
 * @throws {PhoneError} `unreachable`, `refused`, `answer_unreadable`
 */
export async function registerDevice(
  phone: RegistrationDependencies,
  requirement: () => Promise<KeyRequirement | undefined>,
): Promise<PhoneDevice> {
  const { origin, signer, store } = phone
  const stored = await store.device()
  if (stored !== undefined) return stored
  // Before the prompt: the authenticator decides about the attestation when it makes the key.
  const wanted = signer.format === 'webauthn' ? await requirement() : undefined
  const rp_id = signer.format === 'webauthn' ? (wanted?.rp_id ?? signer.rpId) : undefined
  const registered = await submitKey(phone, wanted)
  const device = deviceOf(registered, { origin, rp_id, format: signer.format ?? 'software' })
  await store.keep(device)
  return device
}

/** The device of the response to a registration or a recovery, as the phone stores it. */
export function deviceOf(
  { device_id, subject_id, key_id, device_token, device_token_renew_at }: RegisteredDevice,
  { rp_id, ...of }: Pick<PhoneDevice, 'origin' | 'rp_id' | 'format'>,
): PhoneDevice {
  return {
    ...of,
    device_id,
    subject_id,
    key_id,
    ...(rp_id === undefined ? {} : { rp_id }),
    device_token: new Secret(device_token),
    token_renew_at: device_token_renew_at,
  }
}

async function submitKey(
  phone: RegistrationDependencies,
  wanted: KeyRequirement | undefined,
): Promise<RegisteredDevice> {
  let made: DeviceRegistration | undefined
  try {
    return await call(phone, REGISTER_DEVICE, {
      parameters: {},
      body: async () => (made = await registrationOf(phone, wanted)),
      read: readRegistered,
    })
  } catch (failure) {
    // The service does not know the key, and a second prompt would not change that.
    if (phone.signer.format === 'webauthn' && isRejection(failure, 'attestation_invalid'))
      if (made?.format === 'webauthn')
        await phone.signer.discard({ key_id: made.registration.id, rp_id: wanted?.rp_id })
    throw failure
  }
}

/**
 * The registration of the signer's key over a new challenge of the service. A challenge is valid
 * for one registration, so each attempt needs a new one.
 *
 * @param wanted the kind of browser key; by default a discoverable one without an attestation
 */
export async function registrationOf(
  phone: RegistrationDependencies,
  wanted?: KeyRequirement,
): Promise<DeviceRegistration> {
  // A single attempt: the caller repeats the challenge together with the registration.
  const { challenge } = await fetchChallenge(phone, { retry: false })
  return { challenge, ...(await proofOf(phone.signer, challenge, wanted)) } as DeviceRegistration
}

/** Fetches a challenge for one registration or recovery. */
export function fetchChallenge(
  phone: RegistrationDependencies,
  repeating: { readonly retry?: false } = {},
): Promise<DeviceChallenge> {
  return call(phone, CHALLENGE_DEVICE, {
    parameters: {},
    body: () => ({}),
    read: readChallenge,
    ...repeating,
  })
}

/** The public key or the platform's attestation over the challenge, by the key's format. */
async function proofOf(
  signer: Signer,
  challenge: string,
  wanted: KeyRequirement | undefined,
): Promise<object> {
  if ('publicKey' in signer)
    return { format: 'software', public_key: encodeBase64url(await signer.publicKey()) }
  const bytes = decodeBase64url(challenge)
  if (bytes === undefined) throw new PhoneError('answer_unreadable', { reason: 'challenge' })
  if (signer.format !== 'webauthn')
    return { format: signer.format, ...(await signer.attest(bytes)) }
  const requirement = wanted ?? { rp_id: signer.rpId, attestation: 'none' }
  return { format: signer.format, registration: await signer.register(bytes, requirement) }
}
