import { type DeviceId, deviceTokenPayload, type RotateTokenRequest } from '@bonded/contract'
import { DEVICE_MOVES } from '../domain/device-moves.ts'
import { judgeIssuedAt } from '../domain/phone-rules.ts'
import { accept, type Result, refuse } from '../domain/refusal.ts'
import { Secret } from '../domain/secret.ts'
import type { Work } from '../ports/store.ts'
import { createDeviceToken } from './register-device.ts'
import type { PhoneCaller, Service } from './service.ts'
import { recordDeviceChange } from './record-device-change.ts'
import { verifyAssertion } from './verify-assertion.ts'

/**
 * A new token for a device, against an assertion of its key: whoever found the token alone cannot shut the phone out.
 * The old one works until the new one is first used, so that a lost answer costs nothing.
 */
export async function rotateDeviceToken(
  service: Service,
  caller: PhoneCaller,
  { id, request }: { id: DeviceId | undefined; request: RotateTokenRequest },
): Promise<Result<Secret>> {
  const { device } = caller
  if (device.id !== id) return refuse('device_not_found')
  if (device.status === 'blocked') return refuse('device_not_usable')
  const payload = deviceTokenPayload({
    device_id: device.id,
    subject_id: device.subjectId,
    issued_at: request.issued_at,
    origin: service.settings.publicOrigin,
  })
  const issuedAt = Date.parse(request.issued_at)
  const { row, token } = createDeviceToken(service)
  return service.store.write(function* (tables): Work<Result<Secret>> {
    const now = service.clock.now()
    const timely = judgeIssuedAt(issuedAt, now)
    if (!timely.ok) return timely
    const verified = verifyAssertion(service, { device, payload, appAttest: request.app_attest })
    if (!verified.ok) return verified
    if (!(yield* tables.devices.raiseCounter(device.id, verified.value.counter, issuedAt))) {
      // As with any other assertion: signed later and counted behind, there are two of this key.
      if (yield* tables.devices.suspect(device.id, issuedAt)) {
        yield* recordDeviceChange(tables, device.id, {
          at: now,
          kind: DEVICE_MOVES.suspect.to,
          step: 'counter',
        })
      }
      return refuse('assertion_invalid', { step: 'counter' })
    }
    yield* tables.devices.offerToken(device.id, row)
    yield* tables.devices.record(device.id, { at: now, kind: 'token_offered', step: null })
    return accept(token)
  })
}
