import type { DeviceId } from '@bonded/contract'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Device, Instant } from '../../domain/session.ts'
import { removedWith } from '../../domain/subject-keys.ts'
import { timesOfToken } from './device-token.ts'
import type { PhoneCaller, Service } from '../service.ts'

/** What a device may read about itself. */
export interface OwnDevice {
  readonly device: Device
  readonly tokenExpiresAt: Instant
  /** When another key of its subject was last added or removed, if ever. */
  readonly keysChangedAt: Instant | undefined
}

/** Returns the device's own record. Another device reads as not found. */
export async function readDevice(
  service: Service,
  { device, tokenIssuedAt }: PhoneCaller,
  id: DeviceId | undefined,
): Promise<Result<OwnDevice>> {
  if (device.id !== id) return reject('device_not_found')
  const keysChangedAt = await service.store.read((tables) => tables.devices.keysChangedAt(id))
  const { expiresAt } = timesOfToken(service, tokenIssuedAt)
  return accept({ device, tokenExpiresAt: expiresAt, keysChangedAt })
}

/** A key of a subject, and the other keys that a removal of it removes too. */
export interface SubjectDevice {
  readonly device: Device
  readonly alsoRemoves: readonly DeviceId[]
}

/** Returns the keys of the caller's subject that are not removed, oldest first. */
export async function listKeys(
  service: Service,
  { device: { id: caller, subjectId } }: PhoneCaller,
): Promise<readonly SubjectDevice[]> {
  const family = await service.store.read((tables) => tables.subjects.family(subjectId))
  return family
    .filter(({ status }) => status !== 'removed')
    .map((device) => ({
      device,
      alsoRemoves: removedWith(device, { family, caller }).map(({ id }) => id),
    }))
}
