import type { DeviceRecord, RegisteredDevice, RotatedToken, SubjectKey } from '@bonded/contract'
import { iso, isoOrNull } from '@bonded/core/domain/iso'
import type { Device } from '@bonded/core/domain/session'
import type { NewDeviceToken } from '@bonded/core/operations/device/device-token'
import type { OwnDevice, SubjectDevice } from '@bonded/core/operations/device/read-devices'
import type { Registered } from '@bonded/core/operations/device/register-device'

/** Presents a new registration: the device and its token, which no later response repeats. */
export function presentRegistered({ device, made }: Registered): RegisteredDevice {
  return { ...identity(device), ...presentToken(made) }
}

/** Presents a rotated device token. */
export function presentRotatedToken({ id }: Device, made: NewDeviceToken): RotatedToken {
  return { device_id: id, ...presentToken(made) }
}

/** Presents a device's own record. */
export function presentDevice({ device, tokenExpiresAt, keysChangedAt }: OwnDevice): DeviceRecord {
  return {
    ...identity(device),
    ...stateOf(device),
    ...browserKeyOf(device),
    device_token_expires_at: iso(tokenExpiresAt),
    keys_changed_at: isoOrNull(keysChangedAt),
  }
}

/** Presents a key in the list that the subject's devices may read. */
export function presentKey({ device, alsoRemoves }: SubjectDevice): SubjectKey {
  return {
    device_id: device.id,
    format: device.format,
    environment: device.environment,
    ...stateOf(device),
    ...browserKeyOf(device),
    added_by: device.addedBy ?? null,
    also_removes: [...alsoRemoves],
  }
}

function identity({ id, subjectId, keyId, format, environment }: Device) {
  return { device_id: id, subject_id: subjectId, key_id: keyId, format, environment }
}

function browserKeyOf({ browserKey }: Device): Pick<SubjectKey, 'browser_key'> {
  if (browserKey === undefined) return { browser_key: null }
  const { rpId, createdAt } = browserKey
  return { browser_key: { rp_id: rpId, created_at: iso(createdAt) } }
}

function stateOf({ status, subjectBlocked, createdAt, lastIssuedAt }: Device) {
  return {
    // The phone does not learn whether its device or its whole subject is blocked.
    status: subjectBlocked === true ? ('blocked' as const) : status,
    created_at: iso(createdAt),
    last_assertion_at: isoOrNull(lastIssuedAt),
  }
}

function presentToken({ token, times }: NewDeviceToken) {
  return {
    device_token: token.reveal(),
    device_token_renew_at: iso(times.renewAt),
    device_token_expires_at: iso(times.expiresAt),
  }
}
