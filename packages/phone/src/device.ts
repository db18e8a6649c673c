import {
  CHALLENGE_DEVICE,
  decodeBase64url,
  type DeviceFormat,
  type DeviceRegistration,
  encodeBase64url,
  REGISTER_DEVICE,
  Secret,
} from '@bonded/contract'
import { isRefusal, PhoneError } from './errors.ts'
import type { FetchLike, PhoneClock, PhoneStore, Signer } from './ports.ts'
import type { AttestationConveyance } from './signers/webauthn.ts'
import { call } from './service/call.ts'
import { readChallenge, readRegistered } from './service/read-answer.ts'

/** A key that is registered with one service. Its token prints as `[secret]`. */
export interface PhoneDevice {
  readonly origin: string
  readonly device_id: string
  readonly subject_id: string
  readonly device_token: Secret
  /** When to renew the token, in the service's time. Undefined if an older service omitted it. */
  readonly token_renew_at?: string | undefined
  /** As the service returned it. Every assertion carries it. */
  readonly key_id: string
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
 * The device of this origin: the stored one, or a newly registered one. A registration whose answer
 * is lost leaves a key that the service knows and the phone does not. The service then rejects the
 * repetition with `key_already_registered`, and the phone needs a new key.
 *
 * @throws {PhoneError} `unreachable`, `refused`, `answer_unreadable`
 */
export async function registerDevice(phone: RegistrationDependencies): Promise<PhoneDevice> {
  const { origin, signer, store } = phone
  const stored = await store.device()
  if (stored !== undefined) return stored
  const registered = await submitKey(phone, 'direct').catch((failure: unknown) => {
    // An authenticator of an unknown manufacturer registers without its attestation. Its key serves
    // the tenants that permit such keys.
    if (signer.format !== 'webauthn' || !isRefusal(failure, 'attestation_invalid')) throw failure
    return submitKey(phone, 'none')
  })
  const { device_id, subject_id, key_id, device_token_renew_at } = registered
  const device: PhoneDevice = {
    origin,
    device_id,
    subject_id,
    key_id,
    format: signer.format ?? 'software',
    device_token: new Secret(registered.device_token),
    token_renew_at: device_token_renew_at,
  }
  await store.keep(device)
  return device
}

function submitKey(phone: RegistrationDependencies, conveyance: AttestationConveyance) {
  return call(phone, REGISTER_DEVICE, {
    parameters: {},
    body: () => registrationOf(phone, conveyance),
    read: readRegistered,
  })
}

/**
 * The registration of the signer's key over a new challenge of the service. A challenge is valid
 * for one registration, so each attempt needs a new one.
 *
 * @param conveyance whether a browser key requests its authenticator's attestation
 */
export async function registrationOf(
  phone: RegistrationDependencies,
  conveyance: AttestationConveyance = 'direct',
): Promise<DeviceRegistration> {
  // A single attempt: the caller repeats the challenge together with the registration.
  const challenge = await call(phone, CHALLENGE_DEVICE, {
    parameters: {},
    body: () => ({}),
    read: readChallenge,
    retry: false,
  })
  const proof = await proofOf(phone.signer, { challenge, conveyance })
  return { challenge, ...proof } as DeviceRegistration
}

/** The public key or the platform's attestation over the challenge, by the key's format. */
async function proofOf(
  signer: Signer,
  { challenge, conveyance }: { challenge: string; conveyance: AttestationConveyance },
): Promise<object> {
  if ('publicKey' in signer)
    return { format: 'software', public_key: encodeBase64url(await signer.publicKey()) }
  const bytes = decodeBase64url(challenge)
  if (bytes === undefined) throw new PhoneError('answer_unreadable', { reason: 'challenge' })
  if (signer.format === 'webauthn')
    return { format: signer.format, registration: await signer.register(bytes, conveyance) }
  return { format: signer.format, ...(await signer.attest(bytes)) }
}
