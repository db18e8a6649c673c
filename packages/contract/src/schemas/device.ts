import { type Static, Type } from './type.ts'
import { base64url, Bytes32, closed, id, nullable, Timestamp, word } from './primitives.ts'

/** How a device proves its key. The verifier is chosen by the format stored at registration, never by a request. */
export const DEVICE_FORMATS = ['apple-app-attest', 'android-key', 'webauthn', 'software'] as const
export const DeviceFormat = word(DEVICE_FORMATS)
export type DeviceFormat = Static<typeof DeviceFormat>

export const Environment = word(['sandbox', 'production'])
export type Environment = Static<typeof Environment>

export const DeviceStanding = word(['active', 'suspect', 'blocked', 'removed'])
export type DeviceStanding = Static<typeof DeviceStanding>

export const DeviceChallenge = closed({ challenge: Bytes32, expires_at: Timestamp })
export type DeviceChallenge = Static<typeof DeviceChallenge>

/** Registers a key. `software` is a key without hardware behind it: it serves sandbox tenants only. */
export const RegisterDeviceRequest = closed({
  format: word(['software']),
  challenge: Bytes32,
  public_key: base64url({ min: 80, max: 512 }),
})
export type RegisterDeviceRequest = Static<typeof RegisterDeviceRequest>

const device = {
  device_id: id('dev'),
  subject_id: id('sub'),
  key_id: Type.String(),
  format: DeviceFormat,
  environment: Environment,
}

/** The answer to a registration: the only one that carries the device token. */
export const RegisteredDevice = closed({ ...device, device_token: Type.String() })
export type RegisteredDevice = Static<typeof RegisteredDevice>

export const DeviceRecord = closed({
  ...device,
  status: DeviceStanding,
  created_at: Timestamp,
  last_assertion_at: nullable(Timestamp),
})
export type DeviceRecord = Static<typeof DeviceRecord>
