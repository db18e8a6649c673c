import { decodeBase64url, type DeviceRegistration, encodeBase64url } from '@bonded/contract'
import { PhoneError } from './errors.ts'
import type { FetchLike, PhoneClock, PhoneStore, Signer } from './ports.ts'
import { Secret } from './secret.ts'
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
  readonly format: 'apple-app-attest' | 'android-key' | 'software'
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
  const { origin, signer, store, clock } = phone
  const kept = await store.device()
  if (kept !== undefined) return kept
  const registered = await patiently(
    async () => {
      const body = JSON.stringify(await registrationOf(phone))
      return readRegistered(
        await exchange(phone, { method: 'POST', path: '/api/v1/devices', body }),
      )
    },
    { clock },
  )
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

/**
 * What registers the signer's key, over a challenge that the service gives for it. A challenge is valid for one
 * registration, so each try takes a new one.
 */
export async function registrationOf(
  phone: Pick<Registrar, 'origin' | 'fetch' | 'signer'>,
): Promise<DeviceRegistration> {
  const challenge = readChallenge(
    await exchange(phone, { method: 'POST', path: '/api/v1/devices/challenges', body: '{}' }),
  )
  return { challenge, ...(await proofOf(phone.signer, challenge)) } as DeviceRegistration
}

/** What the key shows of itself, by its format. A platform vouches for it with this very challenge in its hands. */
async function proofOf(signer: Signer, challenge: string): Promise<object> {
  if (!('attest' in signer))
    return { format: 'software', public_key: encodeBase64url(await signer.publicKey()) }
  const bytes = decodeBase64url(challenge)
  if (bytes === undefined) throw new PhoneError('answer_unreadable', { reason: 'challenge' })
  return { format: signer.format, ...(await signer.attest(bytes)) }
}
