import type {
  DeviceId,
  RequestId,
  SessionId,
  SessionState,
  SubjectId,
  TenantId,
  Timeline,
  Unreadiness,
} from '@bonded/contract'
import type { DeviceEvent, DeviceMove } from '../domain/device-moves.ts'
import type { MotionMemory } from '../domain/motion-memory.ts'
import type { Device, Instant, Session } from '../domain/session.ts'
import type { MoveChanges } from '../domain/changes.ts'
import type { Move } from '../domain/transitions.ts'
import type { ChangeNotification } from './bus.ts'
import type { KeyReceipt } from './devices.ts'
import type { NodeMessages } from './peers.ts'
import type { TenantTable } from './tenant-table.ts'

/**
 * A step of a unit of work. It is a generator, so that one driver can run it without a pause
 * (SQLite) and another can wait at each statement (PostgreSQL). Only the driver interprets the
 * yielded values.
 */
export type Work<T> = Generator<unknown, T, unknown>

/**
 * A unit of work over the tables. Reads see committed data and, inside `write`, the unit's own
 * writes.
 */
export type Unit<T> = (tables: Tables) => Work<T>

/** The request that causes a write. */
export interface Cause {
  readonly requestId: RequestId
  /** The key id of the request's server credential, or its publishable key; null without one. */
  readonly keyId: string | null
}

export interface Store extends AsyncDisposable {
  /**
   * Runs the unit atomically and resolves once its writes are durable. A unit that throws undoes
   * only itself.
   *
   * A unit must have no effect except on the tables: if another unit of the same transaction fails,
   * the driver runs it again from the beginning.
   *
   * The unit runs later than the call, so it must read the clock itself. With the caller's time, a
   * session could still move after a reader saw it expired.
   *
   * @throws {StoreError} when the writes could not be made durable; nothing was written
   */
  write<T>(unit: Unit<T>): Promise<T>
  /** Runs a unit that only reads committed data. */
  read<T>(unit: Unit<T>): Promise<T>
  /**
   * An unpredictable id for a session that is created now. It reveals no time and no order, except
   * to this store, which keeps sessions of one time together.
   *
   * @param random 16 random bytes
   */
  newSessionId(at: Instant, random: Uint8Array): SessionId
  /** Returns the same store for one request: the events that it stores name their cause. */
  during(cause: Cause): Store
  /**
   * Returns what prevents the store from working now. It retries what failed before, and never
   * rejects: an unreachable store is part of the result.
   */
  health(): Promise<readonly Unreadiness[]>
  /** Whether the database has a clock, which all nodes use. */
  readonly hasClock: boolean
  /**
   * Returns each session that another process has changed since the last call. The result may name
   * too many sessions, never too few.
   */
  externalChanges(): Promise<readonly ChangeNotification[]>
  /**
   * How many further calls may begin without a long wait for the database; 0 or less for none.
   * Absent if no call ever waits for another one.
   */
  readonly room?: () => number
  /** Messages between the nodes of this store. Absent if only one node can use it. */
  readonly messages?: NodeMessages
}

/** What prevents a store from working, if it can tell. */
export type StoreFailure =
  | 'full'
  | 'locked'
  | 'read_only'
  | 'cannot_open'
  | 'not_a_database'
  | 'damaged'
  | 'input_output'
  | 'unreachable'
  | 'busy'
  | 'rejected'
  | 'unsuitable'
  | 'not_migrated'

/** The store could not be read or written. */
export class StoreError extends Error {
  readonly code = 'store_unavailable'
  override readonly name = 'StoreError'
  readonly kind: StoreFailure | undefined
  /** The location of the store, for the operator who repairs it. */
  readonly where: string | undefined

  constructor(
    message: string,
    options: { kind?: StoreFailure; where?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.kind = options.kind
    this.where = options.where
  }
}

/** All stored data, by noun. */
export interface Tables {
  /** Whether the unit may write. */
  readonly mayWrite: boolean
  readonly sessions: SessionTable
  readonly devices: DeviceTable
  readonly subjects: SubjectTable
  readonly tenants: TenantTable
  readonly idempotency: IdempotencyTable
}

export interface TimelineNote {
  readonly at: Instant
  readonly kind: string
  readonly reason?: string | null
  readonly step?: string | null
  /** The phone that the note concerns. */
  readonly by?: DeviceId
}

export interface StoredEvent {
  readonly seq: number
  /** `created`, a state, or a hint. */
  readonly kind: string
  readonly at: Instant
  readonly state: SessionState
  readonly hint: Session['hint']
}

/** The stored facts about a device and a session. */
export interface DeviceStats {
  /** Invalid assertions of this device on this session. */
  readonly failures: number
  /** The tenant's pseudonym for the device's subject, once the subject has bonded there. */
  readonly subjectRef: string | undefined
  /** The decayed continuity of the device's bonds with the tenant, if it has any. */
  readonly continuity: number | undefined
  /** Whether a bond of the device with the tenant was completed. */
  readonly hasCompleted: boolean
}

/** The sessions that an operator lists. */
export interface SessionQuery {
  readonly tenantId?: TenantId | undefined
  /** Sessions that are in this state at this instant, whether or not their expiry is stored yet. */
  readonly state?: { readonly is: SessionState; readonly at: Instant } | undefined
  /** Only sessions older than this one: the next page after it. */
  readonly before?: Pick<Session, 'id' | 'createdAt'> | undefined
  readonly limit: number
}

/**
 * The sessions. Each change is one guarded statement that replaces the session as the unit has read
 * it. If anything else was stored in between, the statement changes nothing and the result is
 * undefined.
 */
export interface SessionTable {
  /**
   * Stores a new session with its first event.
   *
   * @returns false if the primary key that the id gives is in use: create the session under another
   */
  create(session: Session): Work<boolean>
  find(id: SessionId): Work<Session | undefined>
  /**
   * Moves a session along a row of the transition table: one stored event, one step of `seq`. Of
   * two concurrent moves exactly one succeeds. Undefined also if the table or the session's expiry
   * does not allow the move.
   */
  move(
    session: Session,
    move: Move,
    change: { now: Instant; set?: MoveChanges },
  ): Work<Session | undefined>
  /** Counts a further valid assertion that misses the policy. The state does not change. */
  countMiss(
    session: Session,
    change: { now: Instant; stepUp: Session['stepUp'] },
  ): Work<Session | undefined>
  /**
   * Pins a session to a phone, or stores the phone's newer nonce. Undefined if another phone
   * claimed the session first, or it has ended.
   */
  claim(
    session: Session,
    claim: { now: Instant; deviceId: DeviceId; nonce: string; claimedAt: Instant },
  ): Work<Session | undefined>
  /**
   * Sets the hint, with one event. Undefined if the hint is the same, or the session awaits no
   * phone.
   */
  hint(
    session: Session,
    hint: NonNullable<Session['hint']>,
    now: Instant,
  ): Work<Session | undefined>
  /** Stores the first Origin that presented the watch token. */
  storeOrigin(id: SessionId, origin: string): Work<void>
  /**
   * Adds a note to the timeline. A session has at most 200 notes. A phone that has not claimed the
   * session can add one only while there are fewer than 100.
   */
  note(id: SessionId, note: TimelineNote): Work<void>
  timeline(id: SessionId): Work<Timeline['entries']>
  eventsAfter(id: SessionId, seq: number): Work<readonly StoredEvent[]>
  deviceStats(session: Session, device: Pick<Device, 'id' | 'subjectId'>): Work<DeviceStats>
  /** Counts an invalid assertion. @returns how many this device has sent on this session */
  countFailure(id: SessionId, deviceId: DeviceId): Work<number>
  /** Live sessions that have reached their expiry, oldest first. */
  overdue(now: Instant, limit: number): Work<readonly Session[]>
  /**
   * Deletes sessions that ended by the instant, with their dependent rows, earliest end first.
   *
   * @returns the ids of the deleted sessions, at most `limit`
   */
  purge(endedBy: Instant, limit: number): Work<readonly SessionId[]>
  /** The live session that expires last; undefined if none is live. */
  latest(): Work<{ readonly rootKeyId: string; readonly createdAt: Instant } | undefined>
  /** The live sessions that are pinned to a device. */
  pinnedTo(deviceId: DeviceId): Work<readonly Session[]>
  /** Sessions for an operator, newest first. Reads the whole table. */
  list(query: SessionQuery): Work<readonly Session[]>
  storeContinuity(row: {
    tenantId: TenantId
    deviceId: DeviceId
    mean: number
    now: Instant
  }): Work<void>
  /** Stores that a bond of the device with the tenant was completed, unless one was before. */
  storeCompletion(row: { tenantId: TenantId; deviceId: DeviceId; now: Instant }): Work<void>
}

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

/** The keys of a subject and its block by an operator. */
export interface SubjectTable {
  /** The devices of a subject that are not removed, oldest first. */
  keys(id: SubjectId): Work<readonly Device[]>
  /** When the subject was blocked; undefined if it is not blocked. */
  blockedAt(id: SubjectId): Work<Instant | undefined>
  /**
   * Blocks all present and future devices of the subject. @returns false if it was blocked already
   */
  block(id: SubjectId, now: Instant): Work<boolean>
  /**
   * Ends the block. Devices that were blocked individually stay blocked. @returns false if the
   * subject was not blocked
   */
  unblock(id: SubjectId): Work<boolean>
}

export interface IdempotencyTable {
  /** Assigns the key to this session. @returns false if the key is in use */
  take(row: {
    tenantId: TenantId
    key: string
    bodyMac: string
    rootKeyId: string
    session: Pick<Session, 'id' | 'createdAt'>
  }): Work<boolean>
  find(
    tenantId: TenantId,
    key: string,
  ): Work<{ bodyMac: string; rootKeyId: string; sessionId: SessionId } | undefined>
  /**
   * Releases a key whose session can no longer be read, or was not created, unless another session
   * has it by now.
   */
  release(tenantId: TenantId, key: string, sessionId: SessionId): Work<void>
  /**
   * Deletes keys of sessions that were created by the instant, at most `limit`. @returns how many
   */
  purge(createdBy: Instant, limit: number): Work<number>
}
