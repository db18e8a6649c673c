import { ENDPOINTS, parseId } from '@bonded/contract'
import { accept } from '../../domain/refusal.ts'
import {
  challengeDevice,
  readDevice,
  registerDevice,
  removeDevice,
} from '../../operations/register-device.ts'
import { rotateDeviceToken } from '../../operations/rotate-device-token.ts'
import { presentDevice } from '../present.ts'
import { iso } from '../../domain/iso.ts'
import { serve } from '../serve.ts'

export const challengeDeviceRoute = serve(ENDPOINTS.challengeDevice, ({ service }) => {
  const { challenge, expiresAt } = challengeDevice(service)
  return accept(['challenge', { challenge, expires_at: iso(expiresAt) }])
})

export const registerDeviceRoute = serve(
  ENDPOINTS.registerDevice,
  async ({ service, caller, body }) => {
    const registered = await registerDevice(service, caller, body)
    if (!registered.ok) return registered
    const { device, token } = registered.value
    const {
      status: _status,
      created_at: _created,
      last_assertion_at: _last,
      ...record
    } = presentDevice(device)
    return accept(['registered', { ...record, device_token: token.reveal() }])
  },
)

export const getDeviceRoute = serve(ENDPOINTS.getDevice, ({ caller, params }) => {
  const device = readDevice(caller, parseId('dev', params.device_id ?? ''))
  return device.ok ? accept(['device', presentDevice(device.value)]) : device
})

export const rotateDeviceTokenRoute = serve(
  ENDPOINTS.rotateDeviceToken,
  async ({ service, caller, params, body }) => {
    const rotated = await rotateDeviceToken(service, caller, {
      id: parseId('dev', params.device_id ?? ''),
      request: body,
    })
    return rotated.ok
      ? accept(['rotated', { device_id: caller.device.id, device_token: rotated.value.reveal() }])
      : rotated
  },
)

export const removeDeviceRoute = serve(
  ENDPOINTS.removeDevice,
  async ({ service, caller, params }) => {
    const removed = await removeDevice(service, caller, parseId('dev', params.device_id ?? ''))
    return removed.ok ? accept(null) : removed
  },
)
