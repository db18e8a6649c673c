import type { DeviceId, SubjectId } from '@bonded/contract'
import { DEVICE_MOVES, type DeviceEvent } from '../../domain/device-moves.ts'
import type { Device, Session } from '../../domain/session.ts'
import { OperatorError } from './tenants.ts'
import type { Service } from '../service.ts'
import { recordDeviceChange } from '../record-device-change.ts'

/** Devices as an operator sees them: newest first, of all subjects or of one. */
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

/** A device, the sessions it holds that have not ended, and what became of it. */
export interface HeldDevice {
  readonly device: Device
  readonly holds: readonly Session[]
  readonly events: readonly DeviceEvent[]
}

/** @throws {OperatorError} where there is none */
export async function inspectDevice(service: Service, id: DeviceId): Promise<HeldDevice> {
  const found = await service.store.read(function* (tables) {
    const device = yield* tables.devices.find(id)
    return (
      device && {
        device,
        holds: yield* tables.sessions.heldBy(id),
        events: yield* tables.devices.events(id),
      }
    )
  })
  if (found === undefined) throw new OperatorError('there is no such device')
  return found
}

/** What an operator does to a device, and what it is called afterwards. */
export const DEVICE_VERBS = { block: 'blocked', unblock: 'unblocked', remove: 'removed' } as const

/**
 * Blocks a device, lets a blocked or suspect one serve again, or removes one for good. A stopped one is refused with
 * its next call. The sessions it holds live on, and say in their timelines what happened.
 */
export async function moveDevice(
  service: Service,
  id: DeviceId,
  verb: keyof typeof DEVICE_VERBS,
): Promise<HeldDevice> {
  return service.store.write(function* (tables) {
    const device = yield* tables.devices.find(id)
    if (device === undefined) throw new OperatorError('there is no such device')
    const move = DEVICE_MOVES[verb]
    if (!(yield* tables.devices.move(id, move)))
      throw new OperatorError(`the device is ${device.status} already`)
    const holds = yield* recordDeviceChange(tables, id, {
      at: service.clock.now(),
      kind: DEVICE_VERBS[verb],
      step: 'operator',
    })
    return {
      device: { ...device, status: move.to },
      holds,
      events: yield* tables.devices.events(id),
    }
  })
}
