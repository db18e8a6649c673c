import { BODY_LIMITS } from './body-limits.ts'
import { define } from './endpoint.ts'
import { REGISTRATION_REJECTIONS } from './phone-rejections.ts'
import {
  DeviceChallenge,
  DeviceRecord,
  RecoverDeviceRequest,
  RegisterDeviceRequest,
  RegisteredDevice,
  RemoveDeviceRequest,
  RotatedToken,
  RotateTokenRequest,
  SubjectKeys,
} from './schemas/device.ts'
import { closed, id } from './schemas/primitives.ts'

/** The ids that a path about devices can name, each with its prefix. */
export const DEVICE_PATH_IDS = { device_id: 'dev' } as const
const device = closed({ device_id: id(DEVICE_PATH_IDS.device_id) })

/** The endpoints of a phone's keys. */
export const DEVICE_ENDPOINTS = {
  challengeDevice: define({
    method: 'POST',
    path: '/api/v1/devices/challenges',
    status: 201,
    retry: 'repeat',
    priority: 'new',
    summary: 'Creates a challenge for a registration or a recovery.',
    callers: ['anonymous'],
    ownOriginOnly: true,
    limits: ['challenge'],
    responses: { challenge: DeviceChallenge },
    rejections: ['origin_not_allowed'],
  }),
  registerDevice: define({
    method: 'POST',
    path: '/api/v1/devices',
    status: 201,
    // A challenge is valid for one registration.
    retry: 'rebuild',
    priority: 'new',
    summary:
      'Registers a key: the first of a new subject or, with a device token and an approval, a further one.',
    callers: ['anonymous', 'phone'],
    ownOriginOnly: true,
    limits: ['register'],
    body: { schema: RegisterDeviceRequest, limitBytes: BODY_LIMITS.registration },
    responses: { registered: RegisteredDevice },
    rejections: REGISTRATION_REJECTIONS,
  }),
  recoverDevice: define({
    method: 'POST',
    path: '/api/v1/devices/recovery',
    status: 201,
    // A challenge is valid for one recovery.
    retry: 'rebuild',
    priority: 'new',
    summary:
      'Issues a new device token to a phone page that has lost its own and still has the passkey.',
    callers: ['anonymous'],
    ownOriginOnly: true,
    limits: ['recovery'],
    body: { schema: RecoverDeviceRequest, limitBytes: BODY_LIMITS.assertion },
    responses: { recovered: RegisteredDevice },
    rejections: ['assertion_invalid', 'origin_not_allowed'],
  }),
  listKeys: define({
    method: 'GET',
    path: '/api/v1/devices',
    priority: 'new',
    summary: 'Lists the keys of the device’s subject.',
    callers: ['phone'],
    limits: ['device'],
    responses: { keys: SubjectKeys },
    rejections: [],
  }),
  getDevice: define({
    method: 'GET',
    path: '/api/v1/devices/{device_id}',
    priority: 'new',
    summary: 'Reads the device’s own record.',
    callers: ['phone'],
    limits: ['phone'],
    params: device,
    responses: { device: DeviceRecord },
    rejections: ['device_not_found'],
  }),
  rotateDeviceToken: define({
    method: 'POST',
    path: '/api/v1/devices/{device_id}/token',
    status: 201,
    retry: 'rebuild',
    priority: 'begun',
    summary: 'Rotates the device token. The old token works until the new one is first used.',
    callers: ['phone'],
    acceptsExpiredToken: true,
    limits: ['device'],
    params: device,
    body: { schema: RotateTokenRequest, limitBytes: BODY_LIMITS.assertion },
    responses: { rotated: RotatedToken },
    rejections: [
      'device_not_found',
      'device_not_usable',
      'issued_at_out_of_range',
      'assertion_invalid',
    ],
  }),
  removeDevice: define({
    method: 'POST',
    path: '/api/v1/devices/{device_id}/removal',
    status: 204,
    retry: 'rebuild',
    priority: 'begun',
    summary: 'Removes a key of the device’s subject. The key and its token stop working.',
    callers: ['phone'],
    limits: ['device'],
    params: device,
    body: { schema: RemoveDeviceRequest, limitBytes: BODY_LIMITS.assertion },
    rejections: [
      'device_not_found',
      'device_not_usable',
      'key_too_new',
      'issued_at_out_of_range',
      'assertion_invalid',
    ],
  }),
} as const
