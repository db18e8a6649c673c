import { deviceTokenPayload, type RotateTokenRequest } from '@bonded/contract'
import { signPayload } from '../assertion.ts'
import type { PhoneDevice } from '../device.ts'
import { isRefusal, PhoneError } from '../errors.ts'
import type { AbortSignalLike } from '../ports.ts'
import { Secret } from '../secret.ts'
import { serverMsAt, type ServerTime, syncTo, timestampAt } from '../server-time.ts'
import { exchange } from '../service/exchange.ts'
import { patiently } from '../service/patience.ts'
import { readToken } from '../service/read-answer.ts'
import { withServerTime } from '../service/resync.ts'
import type { ClaimedSession, Instruments } from '../session/claimed.ts'
import { currentToken } from './current-token.ts'

interface Waiting {
  readonly signal?: AbortSignalLike | undefined
}

/**
 * Gets a new device token by the key, and keeps it. The old one works until the new one is first used, so a lost
 * answer is asked for again; each try is signed anew.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`, `cancelled`
 */
export function renewToken(
  phone: Instruments,
  known: { readonly device: PhoneDevice; readonly server_time: ServerTime },
  { signal }: Waiting,
): Promise<PhoneDevice> {
  return withServerTime(phone, known.server_time, (server_time) =>
    patiently(() => requestToken(phone, { device: known.device, server_time }, { signal }), {
      ...phone,
      signal,
    }),
  )
}

/**
 * Acts with the device of this phone, and renews its token first where the service says that it has expired. An
 * expired token still names the device, so the registration and what tenants know of its user are kept.
 *
 * @param renew `renewToken`, or the same taking its turn with the key
 *
 * @throws what the act throws, and what a renewal throws
 */
export async function withFreshToken<T>(
  phone: Instruments,
  device: PhoneDevice,
  { act, renew }: { act: (device: PhoneDevice) => Promise<T>; renew: typeof renewToken },
): Promise<T> {
  try {
    return await act(device)
  } catch (error) {
    const server_time = isRefusal(error, 'device_token_expired')
      ? (error as PhoneError).server_time
      : undefined
    if (server_time === undefined) throw error
    return act(await renew(phone, { device, server_time: syncTo(server_time, phone.clock) }, {}))
  }
}

/**
 * The session with a renewed token where the token's renewal is due. One try: the old token still works, and the
 * next session tries again.
 *
 * @throws {PhoneError} `cancelled`
 */
export async function renewIfDue(
  phone: Instruments,
  claimed: ClaimedSession,
  waiting: Waiting,
): Promise<ClaimedSession> {
  const { device, server_time } = claimed
  const { token_renew_at } = device
  const now = serverMsAt(server_time, phone.clock.now())
  if (token_renew_at === undefined || !(now >= Date.parse(token_renew_at))) return claimed
  try {
    return { ...claimed, device: await requestToken(phone, { device, server_time }, waiting) }
  } catch (error) {
    if (!(error instanceof PhoneError) || error.code === 'cancelled') throw error
    return claimed
  }
}

async function requestToken(
  phone: Instruments,
  { device, server_time }: { device: PhoneDevice; server_time: ServerTime },
  { signal }: Waiting,
): Promise<PhoneDevice> {
  const body = JSON.stringify(await signedRequest(phone, { device, server_time }))
  const answer = await exchange(phone, {
    method: 'POST',
    path: `/api/v1/devices/${device.device_id}/token`,
    token: await currentToken(phone, device),
    body,
    signal,
  })
  const { device_token, device_token_renew_at } = readToken(answer)
  const renewed: PhoneDevice = {
    ...device,
    device_token: new Secret(device_token),
    token_renew_at: device_token_renew_at,
  }
  await phone.store.keep(renewed)
  return renewed
}

async function signedRequest(
  phone: Instruments,
  { device, server_time }: { device: PhoneDevice; server_time: ServerTime },
): Promise<RotateTokenRequest> {
  const { device_id, subject_id, key_id } = device
  const issued_at = timestampAt(server_time, phone.clock.now())
  const payload = deviceTokenPayload({ device_id, subject_id, issued_at, origin: phone.origin })
  return { issued_at, app_attest: await signPayload(phone, { payload, key_id }) }
}
