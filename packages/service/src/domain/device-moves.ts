import type { Device, Instant } from './session.ts'

/** One way a device can move. */
export interface DeviceMove {
  readonly from: readonly Device['status'][]
  readonly to: Device['status']
}

/** Every way a device can move. Its key and its token serve in `active` and `suspect` only; nothing leads out of `removed`. */
export const DEVICE_MOVES = {
  suspect: { from: ['active'], to: 'suspect' },
  block: { from: ['active', 'suspect'], to: 'blocked' },
  /** An operator has looked at it. */
  unblock: { from: ['suspect', 'blocked'], to: 'active' },
  remove: { from: ['active', 'suspect', 'blocked'], to: 'removed' },
} as const satisfies Record<string, DeviceMove>

/**
 * What can become of a device. `key_added` and `key_removed` name a change of another key of its subject;
 * `subject_blocked` and `subject_unblocked` one of the whole subject.
 */
export type DeviceChange =
  | 'registered'
  | 'key_added'
  | 'key_removed'
  | 'subject_blocked'
  | 'subject_unblocked'
  | 'suspect'
  | 'blocked'
  | 'unblocked'
  | 'removed'
  | 'token_offered'
  | 'token_rotated'

/** A change of a device, as it is kept. */
export interface DeviceEvent {
  readonly seq: number
  readonly at: Instant
  readonly kind: DeviceChange
  /** The check or the party that brought it about. */
  readonly step: string | null
  readonly requestId: string | null
}
