import type { DeviceId, SubjectId } from '@bonded/contract'
import { DEVICE_MOVES, type DeviceEvent } from '../../domain/device-moves.ts'
import type { Device, Session } from '../../domain/session.ts'
import { deviceNotFound, OperatorError } from './operator-error.ts'
import type { Service } from '../service.ts'
import { recordDeviceChange } from '../device/record-device-change.ts'
import { removeWithPlanted } from '../device/remove-with-planted.ts'

/** Devices, newest first, of all subjects or of one. */
export function listDevices(
  service: Service,
  wanted: {
    readonly status?: Device['status']
    readonly subjectId?: SubjectId
    readonly limit: number
  },
): Promise<readonly Device[]> {
  return service.store.read((tables) => tables.devices.recent(wanted))
}

/** A device, its live sessions, and its timeline. */
export interface HeldDevice {
  readonly device: Device
  readonly holds: readonly Session[]
  readonly events: readonly DeviceEvent[]
}

/** @throws {OperatorError} where the device does not exist */
export async function inspectDevice(service: Service, id: DeviceId): Promise<HeldDevice> {
  const found = await service.store.read(function* (tables) {
    const device = yield* tables.devices.find(id)
    return (
      device && {
        device,
        holds: yield* tables.sessions.pinnedTo(id),
        events: yield* tables.devices.events(id),
      }
    )
  })
  if (found === undefined) throw deviceNotFound(id)
  return found
}

/** An operator's action on a device, and the event that records it. */
export const DEVICE_VERBS = { block: 'blocked', unblock: 'unblocked', remove: 'removed' } as const

/**
 * Blocks a device, unblocks a blocked or suspect one, or removes one permanently, with the phones
 * that it added in its own first 72 hours. The service
 * rejects the next call of a blocked or removed device. Its live sessions continue; their timelines
 * record the change.
 *
 * @throws {OperatorError} where the device does not exist, or cannot change in this way
 */
export async function moveDevice(
  service: Service,
  id: DeviceId,
  verb: keyof typeof DEVICE_VERBS,
): Promise<HeldDevice> {
  return service.store.write(function* (tables) {
    const device = yield* tables.devices.find(id)
    if (device === undefined) throw deviceNotFound(id)
    const move = DEVICE_MOVES[verb]
    const change = { at: service.clock.now(), step: 'operator' }
    const conflict = new OperatorError(`The device is already ${device.status}`, {
      code: 'conflict',
    })
    if (verb !== 'remove' && !(yield* tables.devices.move(id, move))) throw conflict
    const holds =
      verb === 'remove'
        ? yield* removeWithPlanted(tables, device, { ...change, caller: null })
        : yield* recordDeviceChange(tables, id, { ...change, kind: DEVICE_VERBS[verb] })
    if (holds === undefined) throw conflict
    return {
      device: { ...device, status: move.to },
      holds,
      events: yield* tables.devices.events(id),
    }
  })
}
