import { deviceTokenPayload, type RotateTokenRequest } from '@bonded/contract'
import { signPayload } from '../assertion.ts'
import type { AbortSignalLike } from '../ports.ts'
import { Secret } from '../secret.ts'
import { timestampAt } from '../server-time.ts'
import { exchange } from '../service/exchange.ts'
import { patiently } from '../service/patience.ts'
import { readToken } from '../service/read-answer.ts'
import type { ClaimedSession, Instruments } from './claimed.ts'
import { resynced } from './resync.ts'

/**
 * Gets a new device token by the key, and keeps it. The old one works until the new one is first used, so a lost
 * answer is asked for again; each try is signed anew.
 *
 * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`, `cancelled`
 */
export async function renewToken(
  phone: Instruments,
  claimed: ClaimedSession,
  { signal }: { signal?: AbortSignalLike | undefined },
): Promise<ClaimedSession> {
  return resynced(phone, claimed, async (known) => {
    const path = `/api/v1/devices/${known.device.device_id}/token`
    const answer = await patiently(
      async () => {
        const body = JSON.stringify(await signedRequest(phone, known))
        return exchange(phone, {
          method: 'POST',
          path,
          token: known.device.device_token,
          body,
          signal,
        })
      },
      { ...phone, signal },
    )
    const device = { ...known.device, device_token: new Secret(readToken(answer)) }
    await phone.store.keep(device)
    return { ...known, device }
  })
}

async function signedRequest(
  phone: Instruments,
  { device, server_time }: ClaimedSession,
): Promise<RotateTokenRequest> {
  const { device_id, subject_id, key_id } = device
  const issued_at = timestampAt(server_time, phone.clock.now())
  const payload = deviceTokenPayload({ device_id, subject_id, issued_at, origin: phone.origin })
  return { issued_at, app_attest: await signPayload(phone, { payload, key_id }) }
}
