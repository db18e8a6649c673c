import { ENDPOINTS } from '@bonded/contract'
import { accept, mapResult } from '@bonded/core/domain/rejection'
import { iso } from '@bonded/core/domain/iso'
import { listKeys, readDevice } from '@bonded/core/operations/device/read-devices'
import { challengeDevice, registerDevice } from '@bonded/core/operations/device/register-device'
import { recoverDevice } from '@bonded/core/operations/device/recover-device'
import { removeDevice } from '@bonded/core/operations/device/remove-device'
import { rotateDeviceToken } from '@bonded/core/operations/device/rotate-device-token'
import {
  presentDevice,
  presentKey,
  presentRegistered,
  presentRotatedToken,
} from '../response/present-device.ts'
import { serve } from '../serve.ts'

export const challengeDeviceRoute = serve(ENDPOINTS.challengeDevice, ({ service }) => {
  const { challenge, expiresAt } = challengeDevice(service)
  return accept([
    'challenge',
    { challenge, expires_at: iso(expiresAt), rp_id: service.settings.rpId },
  ])
})

export const registerDeviceRoute = serve(
  ENDPOINTS.registerDevice,
  async ({ service, caller, body }) => {
    const registered = await registerDevice(service, caller, body)
    return mapResult(registered, (value) => ['registered', presentRegistered(value)])
  },
)

export const recoverDeviceRoute = serve(ENDPOINTS.recoverDevice, async ({ service, body }) => {
  const recovered = await recoverDevice(service, body)
  return mapResult(recovered, (value) => ['recovered', presentRegistered(value)])
})

export const listKeysRoute = serve(ENDPOINTS.listKeys, async ({ service, caller }) => {
  const keys = await listKeys(service, caller)
  return accept([
    'keys',
    {
      server_time: iso(service.clock.now()),
      subject_id: caller.device.subjectId,
      keys: keys.map(presentKey),
    },
  ])
})

export const getDeviceRoute = serve(ENDPOINTS.getDevice, async ({ service, caller, params }) => {
  const own = await readDevice(service, caller, params.device_id)
  return mapResult(own, (value) => ['device', presentDevice(value)])
})

export const rotateDeviceTokenRoute = serve(
  ENDPOINTS.rotateDeviceToken,
  async ({ service, caller, params, body }) => {
    const rotated = await rotateDeviceToken(service, caller, {
      id: params.device_id,
      request: body,
    })
    return mapResult(rotated, (value) => ['rotated', presentRotatedToken(caller.device, value)])
  },
)

export const removeDeviceRoute = serve(
  ENDPOINTS.removeDevice,
  async ({ service, caller, params, body }) => {
    const removed = await removeDevice(service, caller, {
      id: params.device_id,
      request: body,
    })
    return mapResult(removed, () => null)
  },
)
