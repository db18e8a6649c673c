import type { DeviceId, SubjectId, TenantId } from '@bonded/contract'
import type { DeviceEvent, DeviceMove } from '../../domain/device-moves.ts'
import type { MotionMemory } from '../../domain/motion-memory.ts'
import type { BrowserKey, Device, Instant } from '../../domain/session.ts'
import type { KeyReceipt } from '../devices.ts'
import type { Work } from '../work.ts'

/** A stored device token. */
export interface DeviceToken {
  readonly id: string
  readonly hash: Uint8Array
  readonly issuedAt: Instant
}

/** A device, found by one of its tokens. */
export interface DeviceByToken {
  readonly device: Device
  readonly token: DeviceToken
  /** Whether the token has been offered and awaits its first use. */
  readonly offered: boolean
}

/** The devices, each with its key, tokens, counter, and motion. */
export interface DeviceTable {
  /** Stores the first key of a new subject. @returns false if the key is registered already */
  register(device: Device, token: DeviceToken): Work<boolean>
  /**
   * Stores a further key of a subject; `device.addedBy` is the device that approved it.
   *
   * @returns false if the key is registered already, the approving device is not an active device
   *   of the same subject, the subject is blocked, or it has `maxKeys` keys
   */
  addKey(device: Device, token: DeviceToken, maxKeys: number): Work<boolean>
  /** Stores the vendor's receipt for a new key until the device is removed. */
  keepReceipt(id: DeviceId, receipt: KeyReceipt): Work<void>
  find(id: DeviceId): Work<Device | undefined>
  /** Finds a device by its key, also a removed one. Not cached: anonymous callers guess ids. */
  findByKey(keyId: string): Work<Device | undefined>
  /** Finds a device by its current token or by the offered one. */
  findByToken(tokenId: string): Work<DeviceByToken | undefined>
  /**
   * Raises the counter and stores the latest accepted `issued_at`. Of two equal counters exactly
   * one is accepted. The counter of a `webauthn` key that does not count stays at 0.
   *
   * @returns false if the counter would not rise
   */
  raiseCounter(id: DeviceId, counter: number, issuedAt: Instant): Work<boolean>
  /**
   * Uses up the assertion of a request for a new token or a change of keys. Works like
   * `raiseCounter`. If the authenticator always reports 0, each request must be signed later than
   * all before it, so that none is accepted twice.
   *
   * @returns false also if the device or its subject is blocked
   */
  useRequest(id: DeviceId, counter: number, issuedAt: Instant): Work<boolean>
  /**
   * Stores the browser key of a device in place of an earlier one.
   *
   * @returns false if the device is removed or blocked, or another key has that id
   */
  setBrowserKey(id: DeviceId, key: BrowserKey): Work<boolean>
  /** Deletes the browser key of a device. @returns false if it has none */
  removeBrowserKey(id: DeviceId): Work<boolean>
  /**
   * Raises the counter of a device's browser key, which stays at 0 if it does not count.
   *
   * @returns false if the counter would not rise, or the device no longer has this key
   */
  raiseBrowserCounter(id: DeviceId, keyId: string, counter: number): Work<boolean>
  /** Marks an active device suspect, if this assertion was signed after all accepted ones. */
  suspect(id: DeviceId, issuedAt: Instant): Work<boolean>
  /**
   * Moves a device along a row of its table. @returns false if it does not exist or cannot move so
   */
  move(id: DeviceId, move: DeviceMove): Work<boolean>
  /** The relying party ids of the `webauthn` keys that are not removed, in order. */
  rpIds(): Work<readonly string[]>
  /** Stores an event of a device. The latest 200 are kept. */
  record(id: DeviceId, event: Pick<DeviceEvent, 'at' | 'kind' | 'step'>): Work<void>
  events(id: DeviceId): Work<readonly DeviceEvent[]>
  /** When another key of the device's subject was last added or removed, if ever. */
  keysChangedAt(id: DeviceId): Work<Instant | undefined>
  /** Stores a token beside the current one. An earlier offer that was not used is deleted. */
  offerToken(id: DeviceId, token: DeviceToken): Work<void>
  /**
   * Replaces the current token with the offered one. Of two concurrent first uses one returns
   * `now`, the other `before`.
   */
  useToken(id: DeviceId, tokenId: string): Work<'now' | 'before' | 'never'>
  /** The newest devices, newest first. For operators: reads the whole table. */
  recent(wanted: {
    readonly status?: Device['status']
    readonly subjectId?: SubjectId
    readonly limit: number
  }): Work<readonly Device[]>
  /** Uses up a registration challenge. @returns false if it was used before */
  useChallenge(challenge: string, expiresAt: Instant): Work<boolean>
  /** Deletes used challenges that have expired, at most `limit`. @returns how many */
  purgeChallenges(now: Instant, limit: number): Work<number>
  /** The stored motion of the device, if any. */
  motion(id: DeviceId): Work<MotionMemory | undefined>
  /** Replaces the stored motion of the device. It is deleted when the device is removed. */
  storeMotion(id: DeviceId, memory: MotionMemory): Work<void>
  /**
   * Returns the tenant's pseudonym for a subject: the stored one, or the given one, which it
   * stores.
   */
  pairwise(row: { tenantId: TenantId; subjectId: SubjectId; subjectRef: string }): Work<string>
}
