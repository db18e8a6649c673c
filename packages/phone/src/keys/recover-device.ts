import { deviceRecoveryPayload, RECOVER_DEVICE } from '@bonded/contract'
import { encodeWebAuthn } from '../assertion.ts'
import { utf8 } from '../bytes.ts'
import { deviceOf, fetchChallenge, type PhoneDevice } from '../device.ts'
import { PhoneError } from '../errors.ts'
import { call } from '../service/call.ts'
import { readRecovered } from '../service/read-response.ts'
import type { PhoneDependencies } from '../session/claimed-session.ts'

/**
 * Finds this phone's device by a discoverable browser key, with one prompt, and stores it with a
 * new token. The request is sent once, because each attempt needs a new signature. After a lost
 * response the user can try again: the service accepts the former token until the new one is used.
 *
 * @param rpId the relying party id; by default the signer's own
 * @throws {PhoneError} `user_verification_failed` where the user confirms no key, `refused`
 * (`assertion_invalid`: the service does not accept the key), `authenticator_unusable` for keys of
 * other formats, `unreachable`, `answer_unreadable`
 */
export async function recoverDevice(
  phone: PhoneDependencies,
  rpId: string | undefined,
): Promise<PhoneDevice> {
  const { origin, signer, sha256, store } = phone
  if (signer.format !== 'webauthn')
    throw new PhoneError('authenticator_unusable', { reason: 'format' })
  const rp_id = rpId ?? signer.rpId
  const { challenge } = await fetchChallenge(phone)
  const payload = deviceRecoveryPayload({ challenge, origin })
  const found = await signer.find(await sha256(utf8(payload)), rp_id)
  const app_attest = await encodeWebAuthn(sha256, found)
  const recovered = await call(phone, RECOVER_DEVICE, {
    parameters: {},
    body: () => ({ challenge, app_attest }),
    read: readRecovered,
    retry: false,
  })
  const device = deviceOf(recovered, { origin, rp_id, format: signer.format })
  await store.keep(device)
  return device
}
