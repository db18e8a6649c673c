import { type DeviceId, deviceRemovePayload, type RemoveDeviceRequest } from '@bonded/contract'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Work } from '../../ports/work.ts'
import { takeDeviceRequest } from './device-request.ts'
import { recordSubjectChange } from './record-device-change.ts'
import { removeWithPlanted } from './remove-with-planted.ts'
import type { PhoneCaller, Service } from '../service.ts'

/**
 * Permanently removes a key of the caller's subject, against an assertion of the caller's key. The
 * removed key and its token stop working, and so do the phones that it planted. The other devices
 * of the subject are notified. A suspect device may remove only itself, because it may be the copy.
 * With the purpose `browser`, the device stays, and loses its browser key.
 */
export async function removeDevice(
  service: Service,
  caller: PhoneCaller,
  { id, request }: { id: DeviceId | undefined; request: RemoveDeviceRequest },
): Promise<Result<void>> {
  if (id === undefined) return reject('device_not_found')
  const { device } = caller
  const { purpose } = request
  const payload = deviceRemovePayload({
    purpose,
    removed_device_id: id,
    device_id: device.id,
    subject_id: device.subjectId,
    issued_at: request.issued_at,
    origin: service.settings.publicOrigin,
  })
  return service.store.write(function* (tables): Work<Result<void>> {
    const target = yield* tables.devices.find(id)
    // Another subject's device reads as not found.
    if (target?.subjectId !== device.subjectId || target.status === 'removed')
      return reject('device_not_found')
    const taken = yield* takeDeviceRequest(service, tables, {
      call: 'remove',
      device,
      payload,
      signed: request,
      isItself: id === device.id,
    })
    if (!taken.ok) return taken
    const change = { at: service.clock.now(), step: 'phone' }
    if (purpose === 'browser') {
      if (!(yield* tables.devices.removeBrowserKey(id))) return reject('device_not_found')
      const kind = 'browser_key_removed'
      yield* recordSubjectChange(tables, device.subjectId, { ...change, kind })
      return accept(undefined)
    }
    if (!(yield* removeWithPlanted(tables, target, { ...change, caller: device.id })))
      return reject('device_not_found')
    yield* recordSubjectChange(tables, device.subjectId, { ...change, kind: 'key_removed' })
    return accept(undefined)
  })
}
