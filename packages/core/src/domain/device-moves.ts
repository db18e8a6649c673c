import type { Device, Instant } from './session.ts'

/** One way a device can move. */
export interface DeviceMove {
  readonly from: readonly Device['status'][]
  readonly to: Device['status']
}

/**
 * Every transition of a device. Its key and token work in `active` and `suspect` only; `removed` is
 * final.
 */
export const DEVICE_MOVES = {
  suspect: { from: ['active'], to: 'suspect' },
  block: { from: ['active', 'suspect'], to: 'blocked' },
  /** An operator reviewed the device. */
  unblock: { from: ['suspect', 'blocked'], to: 'active' },
  remove: { from: ['active', 'suspect', 'blocked'], to: 'removed' },
} as const satisfies Record<string, DeviceMove>

/**
 * The kinds of device events. `key_added` and `key_removed` record a change of another key of the
 * subject, `browser_key_added` and `browser_key_removed` one of its browser keys;
 * `inbox_paused` and `inbox_resumed` record what the device did in the inbox of its subject;
 * `push_on` and `push_off` record whether the service wakes it;
 * `subject_blocked` and `subject_unblocked` record a change of the whole subject.
 */
export type DeviceChange =
  | 'registered'
  | 'key_added'
  | 'key_removed'
  | 'browser_key_added'
  | 'browser_key_removed'
  | 'inbox_paused'
  | 'inbox_resumed'
  | 'push_on'
  | 'push_off'
  | 'subject_blocked'
  | 'subject_unblocked'
  | 'suspect'
  | 'blocked'
  | 'unblocked'
  | 'removed'
  | 'token_offered'
  | 'token_recovered'
  | 'token_rotated'

/** A stored change of a device. */
export interface DeviceEvent {
  readonly seq: number
  readonly at: Instant
  readonly kind: DeviceChange
  /** The check or the party that caused it. */
  readonly step: string | null
  readonly requestId: string | null
}
