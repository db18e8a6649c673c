import type { DeviceId, SessionId } from '@bonded/contract'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import { runChecks } from '../../protocol/run-checks.ts'
import { usesStepNonce } from '../../protocol/states.ts'
import type { PhoneReading } from '../session/read-session.ts'
import { loadAndExpireAttempt, recordNetworkDifference, rejectAndRecord } from './phone-attempt.ts'
import type { PhoneCaller, Service } from '../service.ts'

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
  const { id, nonce, shows, bringsBrowserKey } = input
  if (!isOwn(device.id, input.deviceId)) return reject('device_not_usable', { param: 'device_id' })
  if (id === undefined) return reject('session_not_live')

  return service.store.write(function* (tables) {
    // Each pass evaluates the stored data. A pass is repeated only if another call changed the
    // session in between.
    for (;;) {
      const attempt = yield* loadAndExpireAttempt(service, tables, {
        id,
        device,
        nonce,
        forClaim: true,
      })
      if (attempt === undefined) return reject('session_not_live')
      const failed = yield* runChecks('claim', { ...attempt, shows, bringsBrowserKey })
      if (failed !== undefined) return yield* rejectAndRecord(tables, attempt, failed.rejection)
      const { session, tenant, nonces, now } = attempt
      const unchanged =
        session.deviceId === device.id &&
        (session.claimedNonce === null || nonces.sameText(session.claimedNonce, nonce))
      if (unchanged || usesStepNonce(session)) return accept({ session, tenant, nonce })
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
