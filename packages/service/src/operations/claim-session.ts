import type { DeviceId, SessionId } from '@bonded/contract'
import { checkPhone } from '../domain/phone-rules.ts'
import { accept, type Result, refuse } from '../domain/refusal.ts'
import type { PhoneReading } from './read-session.ts'
import { loadAttempt, noteNetwork, refuseNoted } from './phone-attempt.ts'
import type { PhoneCaller, Service } from './service.ts'

export interface ClaimInput {
  readonly id: SessionId | undefined
  readonly nonce: string
  readonly deviceId: string
  /** The IP address that the phone calls from. */
  readonly address: string
}

/**
 * Takes a session for this phone: from now on no other phone can act on it. Claiming again with the same nonce
 * changes nothing; with a newer one, that nonce's two minutes begin.
 */
export async function claimSession(
  service: Service,
  caller: PhoneCaller,
  input: ClaimInput,
): Promise<Result<PhoneReading>> {
  const { device } = caller
  const { id, nonce } = input
  if (!isOwn(device.id, input.deviceId)) return refuse('device_not_usable', { param: 'device_id' })
  if (id === undefined) return refuse('session_not_live')

  return service.store.write(function* (tables) {
    const now = service.clock.now()
    // Each turn judges what is stored now; a turn ends without an answer only when another call came in between.
    for (;;) {
      const attempt = yield* loadAttempt(service, tables, { id, device, nonce })
      if (attempt === undefined) return refuse('session_not_live')
      const verdict = checkPhone({ ...attempt, forClaim: true }, now)
      if (!verdict.ok)
        return yield* refuseNoted(tables, id, {
          refusal: verdict.refusal,
          deviceId: device.id,
          now,
        })
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
      yield* noteNetwork(tables, session, { address: input.address, deviceId: device.id, now })
      return accept({ session: claimed, tenant, nonce })
    }
  })
}

/** A body may only speak of the device whose token it came with. */
export function isOwn(deviceId: DeviceId, named: string): boolean {
  return deviceId === named
}
