import type { DeviceId, SessionId } from '@bonded/contract'
import { checkBrowserKey, checkPhone, checkShown } from '../domain/phone-rules.ts'
import { accept, type Result, reject } from '../domain/rejection.ts'
import type { PhoneReading } from './read-session.ts'
import { loadAndExpireAttempt, recordNetworkDifference, rejectAndRecord } from './phone-attempt.ts'
import type { PhoneCaller, Service } from './service.ts'

export interface ClaimInput {
  readonly id: SessionId | undefined
  readonly nonce: string
  readonly deviceId: string
  /** Whether the phone will register a browser key with its approval. */
  readonly bringsBrowserKey: boolean
  /** What the phone shows beyond plain text. */
  readonly shows: readonly string[]
  /** The IP address that the phone calls from. */
  readonly address: string
}

/**
 * Claims a session for this phone: no other phone can act on it afterwards. A second claim with the
 * same nonce changes nothing. With a newer nonce, the 120 s of that nonce begin.
 */
export async function claimSession(
  service: Service,
  caller: PhoneCaller,
  input: ClaimInput,
): Promise<Result<PhoneReading>> {
  const { device } = caller
  const { id, nonce } = input
  if (!isOwn(device.id, input.deviceId)) return reject('device_not_usable', { param: 'device_id' })
  if (id === undefined) return reject('session_not_live')

  return service.store.write(function* (tables) {
    // Each pass evaluates the stored data. A pass is repeated only if another call changed the
    // session in between.
    for (;;) {
      const loaded = yield* loadAndExpireAttempt(service, tables, { id, device, nonce })
      if (loaded === undefined) return reject('session_not_live')
      const attempt = { ...loaded, forClaim: true }
      const { now } = attempt
      const early = checkPhone(attempt)
      const shown = early.ok ? checkShown(attempt, input.shows) : early
      const verdict = shown.ok ? checkBrowserKey(attempt, input.bringsBrowserKey) : shown
      if (!verdict.ok) return yield* rejectAndRecord(tables, attempt, verdict.rejection)
      const { session, tenant, nonces } = attempt
      const unchanged =
        session.deviceId === device.id &&
        (session.claimedNonce === null || nonces.sameText(session.claimedNonce, nonce))
      if (unchanged || session.state === 'step_up_required')
        return accept({ session, tenant, nonce })
      const claimed = yield* tables.sessions.claim(session, {
        now,
        deviceId: device.id,
        nonce,
        claimedAt: now,
      })
      if (claimed === undefined) continue
      yield* recordNetworkDifference(tables, attempt, input.address)
      return accept({ session: claimed, tenant, nonce })
    }
  })
}

/** The device of the body must be that of the device token. */
export function isOwn(deviceId: DeviceId, named: string): boolean {
  return deviceId === named
}
