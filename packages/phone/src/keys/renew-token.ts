import {
  deviceTokenPayload,
  ROTATE_DEVICE_TOKEN,
  type RotateTokenRequest,
  Secret,
} from '@bonded/contract'
import { signPayload } from '../assertion.ts'
import type { PhoneDevice } from '../device.ts'
import { isRejection, PhoneError } from '../errors.ts'
import type { Waiting } from '../ports.ts'
import { serverMsAt, type ServerTime, syncTo, timestampAt } from '../server-time.ts'
import { call } from '../service/call.ts'
import { readToken } from '../service/read-response.ts'
import { withServerTime } from '../service/resync.ts'
import type { ClaimedSession, PhoneDependencies } from '../session/claimed-session.ts'

/**
 * Rotates the device token and stores the new one. The old token works until the new one is first
 * used, so the phone repeats a request whose response was lost, with a new signature.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`,
 * `cancelled`
 */
export function renewToken(
  phone: PhoneDependencies,
  known: { readonly device: PhoneDevice; readonly server_time: ServerTime },
  { signal }: Waiting,
): Promise<PhoneDevice> {
  return withServerTime(phone, known.server_time, (server_time) =>
    requestToken(phone, { device: known.device, server_time }, { signal }),
  )
}

/**
 * Runs an act with this phone's device. When the service rejects the token as expired, it renews
 * the token and runs the act again. An expired token still identifies the device, so the phone
 * keeps its registration and its subject.
 *
 * @param renew `renewToken`, queued behind other uses of the key
 * @throws what the act and the renewal throw
 */
export async function withFreshToken<T>(
  phone: PhoneDependencies,
  device: PhoneDevice,
  { act, renew }: { act: (device: PhoneDevice) => Promise<T>; renew: typeof renewToken },
): Promise<T> {
  try {
    return await act(device)
  } catch (error) {
    const server_time = isRejection(error, 'device_token_expired')
      ? (error as PhoneError).server_time
      : undefined
    if (server_time === undefined) throw error
    return act(await renew(phone, { device, server_time: syncTo(server_time, phone.clock) }, {}))
  }
}

/**
 * Renews the token of a claimed session when that is due. It makes one attempt: the old token still
 * works, and the next session tries again.
 *
 * @throws {PhoneError} `cancelled`
 */
export async function renewIfDue(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  waiting: Waiting,
): Promise<ClaimedSession> {
  const { device, server_time } = claimed
  const { token_renew_at } = device
  const now = serverMsAt(server_time, phone.clock.now())
  if (token_renew_at === undefined || !(now >= Date.parse(token_renew_at))) return claimed
  try {
    return {
      ...claimed,
      device: await requestToken(phone, { device, server_time }, { ...waiting, retry: false }),
    }
  } catch (error) {
    if (!(error instanceof PhoneError) || error.code === 'cancelled') throw error
    return claimed
  }
}

async function requestToken(
  phone: PhoneDependencies,
  { device, server_time }: { device: PhoneDevice; server_time: ServerTime },
  waiting: Waiting & { readonly retry?: false },
): Promise<PhoneDevice> {
  const { device_token, device_token_renew_at } = await call(phone, ROTATE_DEVICE_TOKEN, {
    parameters: { device_id: device.device_id },
    device,
    body: () => signedRequest(phone, { device, server_time }),
    read: readToken,
    ...waiting,
  })
  const renewed: PhoneDevice = {
    ...device,
    device_token: new Secret(device_token),
    token_renew_at: device_token_renew_at,
  }
  await phone.store.keep(renewed)
  return renewed
}

async function signedRequest(
  phone: PhoneDependencies,
  { device, server_time }: { device: PhoneDevice; server_time: ServerTime },
): Promise<RotateTokenRequest> {
  const { device_id, subject_id } = device
  const issued_at = timestampAt(server_time, phone.clock.now())
  const payload = deviceTokenPayload({ device_id, subject_id, issued_at, origin: phone.origin })
  return { issued_at, app_attest: await signPayload(phone, { payload, key: device }) }
}
