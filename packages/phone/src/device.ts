import {
  decodeBase64url,
  type DeviceFormat,
  type DeviceRegistration,
  encodeBase64url,
} from '@bonded/contract'
import { isRefusal, PhoneError } from './errors.ts'
import type { FetchLike, PhoneClock, PhoneStore, Signer } from './ports.ts'
import { Secret } from './secret.ts'
import type { AttestationConveyance } from './signers/webauthn.ts'
import { exchange } from './service/exchange.ts'
import { patiently } from './service/patience.ts'
import { readChallenge, readRegistered } from './service/read-answer.ts'

/** A key that is registered with one service. Its token prints as `[secret]`. */
export interface PhoneDevice {
  readonly origin: string
  readonly device_id: string
  readonly subject_id: string
  readonly device_token: Secret
  /** When to renew the token, by the service's clock; undefined where an older service said nothing. */
  readonly token_renew_at?: string | undefined
  /** As the service answered it; what every assertion returns. */
  readonly key_id: string
  readonly format: DeviceFormat
}

/** What registering takes. */
export interface Registrar {
  readonly origin: string
  readonly signer: Signer
  readonly store: PhoneStore
  readonly fetch: FetchLike
  readonly clock: PhoneClock
}

/**
 * The device of this origin: the one kept, else a newly registered one. A registration whose answer is lost leaves a
 * key that the service knows and the phone does not; the repetition is then refused with `key_already_registered`,
 * and only a new key helps.
 *
 * @throws {PhoneError} `unreachable`, `refused`, `answer_unreadable`
 */
export async function registerDevice(phone: Registrar): Promise<PhoneDevice> {
  const { origin, signer, store } = phone
  const kept = await store.device()
  if (kept !== undefined) return kept
  const registered = await submitKey(phone, 'direct').catch((failure: unknown) => {
    // Authenticators whose manufacturer the service does not know still hold a key. It registers without the
    // attestation, and serves the tenants that permit such keys.
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

function submitKey(phone: Registrar, conveyance: AttestationConveyance) {
  return patiently(
    async () => {
      const body = JSON.stringify(await registrationOf(phone, conveyance))
      return readRegistered(
        await exchange(phone, { method: 'POST', path: '/api/v1/devices', body }),
      )
    },
    { clock: phone.clock },
  )
}

/**
 * What registers the signer's key, over a challenge that the service gives for it. A challenge is valid for one
 * registration, so each try takes a new one.
 *
 * @param conveyance whether a browser key asks for its authenticator's attestation
 */
export async function registrationOf(
  phone: Pick<Registrar, 'origin' | 'fetch' | 'signer'>,
  conveyance: AttestationConveyance = 'direct',
): Promise<DeviceRegistration> {
  const challenge = readChallenge(
    await exchange(phone, { method: 'POST', path: '/api/v1/devices/challenges', body: '{}' }),
  )
  const proof = await proofOf(phone.signer, { challenge, conveyance })
  return { challenge, ...proof } as DeviceRegistration
}

/** What the key shows of itself, by its format. A platform vouches for it with this very challenge in its hands. */
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
