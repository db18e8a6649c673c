import type { DeviceId } from '@bonded/contract'
import type { DeviceEvent } from '../domain/device-moves.ts'
import type { Session } from '../domain/session.ts'
import type { Tables, Work } from '../ports/store.ts'

/**
 * Writes a change of a device down, in the unit that makes it: as an event of the device, and in the timeline of every
 * session that it holds. No timeline names the device. @returns the sessions
 */
export function* recordDeviceChange(
  tables: Tables,
  id: DeviceId,
  change: Pick<DeviceEvent, 'at' | 'kind' | 'step'>,
): Work<readonly Session[]> {
  const { at, kind, step } = change
  yield* tables.devices.record(id, change)
  const holds = yield* tables.sessions.heldBy(id)
  for (const session of holds)
    yield* tables.sessions.note(session.id, { at, kind: 'note', reason: `device_${kind}`, step })
  return holds
}
