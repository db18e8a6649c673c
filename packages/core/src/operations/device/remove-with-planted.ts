import { DEVICE_MOVES } from '../../domain/device-moves.ts'
import type { Device, Instant, Session } from '../../domain/session.ts'
import { removedWith } from '../../domain/subject-keys.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { recordDeviceChange } from './record-device-change.ts'

/**
 * Removes a device, and the phones that it added while its own user may not have noticed it.
 *
 * @param removal.caller the device that asks, which stays; null for an operator
 * @returns the live sessions that the device holds; undefined if it cannot be removed
 */
export function* removeWithPlanted(
  tables: Tables,
  device: Device,
  removal: { readonly at: Instant; readonly step: string; readonly caller: Device['id'] | null },
): Work<readonly Session[] | undefined> {
  const { at, step, caller } = removal
  if (!(yield* tables.devices.move(device.id, DEVICE_MOVES.remove))) return undefined
  const holds = yield* recordDeviceChange(tables, device.id, { at, kind: 'removed', step })
  const family = yield* tables.subjects.family(device.subjectId)
  for (const { id } of removedWith(device, { family, caller }))
    if (yield* tables.devices.move(id, DEVICE_MOVES.remove))
      yield* recordDeviceChange(tables, id, { at, kind: 'removed', step: 'added_by_removed' })
  return holds
}
