import { type DeviceId, deviceTokenPayload, type RotateTokenRequest } from '@bonded/contract'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Work } from '../../ports/work.ts'
import { takeDeviceRequest } from './device-request.ts'
import { createDeviceToken, type NewDeviceToken } from './device-token.ts'
import type { PhoneCaller, Service } from '../service.ts'

/**
 * Issues a new token for a device against an assertion of its key, so a stolen token alone cannot
 * exclude the phone. The old token works until the first use of the new one, so a lost response
 * costs nothing. An expired token is accepted here: it only names the device, and the key
 * authenticates it.
 */
export async function rotateDeviceToken(
  service: Service,
  caller: PhoneCaller,
  { id, request }: { id: DeviceId | undefined; request: RotateTokenRequest },
): Promise<Result<NewDeviceToken>> {
  const { device } = caller
  if (device.id !== id) return reject('device_not_found')
  const payload = deviceTokenPayload({
    device_id: device.id,
    subject_id: device.subjectId,
    issued_at: request.issued_at,
    origin: service.settings.publicOrigin,
  })
  const made = createDeviceToken(service)
  return service.store.write(function* (tables): Work<Result<NewDeviceToken>> {
    const taken = yield* takeDeviceRequest(service, tables, {
      call: 'token',
      device,
      payload,
      signed: request,
    })
    if (!taken.ok) return taken
    yield* tables.devices.offerToken(device.id, made.row)
    yield* tables.devices.record(device.id, {
      at: service.clock.now(),
      kind: 'token_offered',
      step: null,
    })
    return accept(made)
  })
}
