import type { DeviceId, SubjectId } from '@bonded/contract'
import { type DeviceChange, type DeviceEvent, DEVICE_MOVES } from '../../domain/device-moves.ts'
import { DEVICE_EVENTS } from '../../domain/events.ts'
import type { Session } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'

/** The changes after which a device proves nothing. */
const WITHDRAWING: readonly DeviceChange[] = ['removed', 'blocked', 'subject_blocked']

interface Change extends Pick<DeviceEvent, 'at' | 'kind' | 'step'> {
  /** The device that the tenants' event names: by default the one that changed; null for none. */
  readonly about?: DeviceId | null
}

/**
 * Records a change of a device within the unit that makes it: as an event of the device, and in the
 * timeline of each session that is pinned to it. No timeline names the device. The bonds of a
 * device that is removed or blocked lose their verification, and so do those of a suspect device
 * in a quorum, where each must be of another user.
 *
 * @returns the sessions
 */
export function* recordDeviceChange(
  tables: Tables,
  id: DeviceId,
  change: Change,
): Work<readonly Session[]> {
  const { at, kind, step, about = id } = change
  yield* tables.devices.record(id, { at, kind, step })
  const type = DEVICE_EVENTS[kind]
  if (type !== undefined) yield* tables.webhooks.addDeviceEvent(id, { type, at, about })
  const holds = yield* tables.sessions.pinnedTo(id)
  for (const session of holds)
    yield* tables.sessions.note(session.id, { at, kind: 'note', reason: `device_${kind}`, step })
  // A bond passes only while its phone is active: otherwise an attacker could approve with
  // a phone, remove it, and still submit.
  for (const session of holds)
    if (
      WITHDRAWING.includes(kind) ||
      (kind === DEVICE_MOVES.suspect.to && session.quorumId !== null)
    )
      yield* tables.sessions.withdraw(session)
  return holds
}

/**
 * Records a change of a subject with each of its devices, so that each phone is notified.
 *
 * @param except the device that changed, which has an event of its own and is the one that those of
 * the others are about. Without it, the change is about all of them.
 */
export function* recordSubjectChange(
  tables: Tables,
  id: SubjectId,
  { except, ...change }: Change & { readonly except?: DeviceId },
): Work<void> {
  for (const device of yield* tables.subjects.keys(id))
    if (device.id !== except)
      yield* recordDeviceChange(tables, device.id, { ...change, about: except ?? null })
}
