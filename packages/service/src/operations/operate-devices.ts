import type { DeviceId, SubjectId } from '@bonded/contract'
import type { Device, Session } from '../domain/session.ts'
import { OperatorError } from './administer.ts'
import type { Service } from './service.ts'

/** Devices as an operator sees them: newest first, of all subjects or of one. */
export function listDevices(
  service: Service,
  wanted: { readonly status?: Device['status']; readonly subjectId?: SubjectId; readonly limit: number },
): Promise<readonly Device[]> {
  return service.store.read((tables) => tables.devices.recent(wanted))
}

/** A device, and the sessions it holds that have not ended. */
export interface HeldDevice {
  readonly device: Device
  readonly holds: readonly Session[]
}

/** @throws {OperatorError} where there is none */
export async function inspectDevice(service: Service, id: DeviceId): Promise<HeldDevice> {
  const found = await service.store.read(function* (tables) {
    const device = yield* tables.devices.find(id)
    return device && { device, holds: yield* tables.sessions.heldBy(id) }
  })
  if (found === undefined) throw new OperatorError('there is no such device')
  return found
}

/**
 * Blocks a device, or removes it for good. Its next call is refused. The sessions it holds live on, and say in
 * their timelines what happened; no timeline names the device.
 */
export async function stopDevice(service: Service, id: DeviceId, status: 'blocked' | 'removed'): Promise<HeldDevice> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    const device = yield* tables.devices.find(id)
    if (device === undefined) throw new OperatorError('there is no such device')
    if (!(yield* tables.devices.setStatus(id, status))) throw new OperatorError(`the device is ${device.status} already`)
    const holds = yield* tables.sessions.heldBy(id)
    for (const session of holds) yield* tables.sessions.note(session.id, { at: now, kind: 'note', reason: `device_${status}`, step: 'operator' })
    return { device: { ...device, status }, holds }
  })
}
