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
import type { SomeLimits } from '../domain/limits.ts'
import type { MotionMemory } from '../domain/motion-memory.ts'
import type { Device, Instant, Session } from '../domain/session.ts'
import type { Scope, Tenant } from '../domain/tenant.ts'
import type { MoveChanges } from '../domain/changes.ts'
import type { Move } from '../domain/transitions.ts'
import type { KeyReceipt } from './devices.ts'

/**
 * A step of a unit of work: written as a generator, so that one driver can run it at a stretch (SQLite) and
 * another can wait at each statement (PostgreSQL). What is yielded is the driver's business.
 */
export type Work<T> = Generator<unknown, T, unknown>

/** A unit of work over the tables. Reads see what was committed, or, inside `write`, what the unit itself wrote. */
export type Unit<T> = (tables: Tables) => Work<T>

export interface Store extends AsyncDisposable {
  /**
   * Runs the unit so that all of it happens or none, and resolves once it is durable.
   * A unit that throws undoes only itself. A unit has no effect but on the tables: it may be run again from its
   * beginning, when another one that shared its transaction has failed. @throws {StoreError} when it could not be made durable: nothing was written.
   *
   * The unit runs later than the call. It reads the clock itself: with the caller's time, a session could still move
   * after a reader was told that its time is up.
   */
  write<T>(unit: Unit<T>): Promise<T>
  /** Runs a unit that only reads, on what is committed. */
  read<T>(unit: Unit<T>): Promise<T>
  /** The same store for one request: whatever event its writes store carries the request's id. */
  during(requestId: RequestId): Store
  /** What keeps the store from being used just now, tried where it refused before. Never fails: a store that cannot be asked says so. */
  health(): Promise<readonly Unreadiness[]>
  /**
   * The latest event of each session that another process has stored something for since the last time this was
   * asked. It may name too many, never too few.
   */
  externalChanges(): Promise<readonly { readonly sessionId: SessionId; readonly seq: number }[]>
}

/** What keeps a store from working, as far as it can tell. */
export type StoreFailure =
  | 'full'
  | 'locked'
  | 'read_only'
  | 'cannot_open'
  | 'not_a_database'
  | 'damaged'
  | 'input_output'

/** The store could not be read or written. */
export class StoreError extends Error {
  readonly code = 'store_unavailable'
  override readonly name = 'StoreError'
  readonly trouble: StoreFailure | undefined
  /** Where the store lies, for whoever has to mend it. */
  readonly where: string | undefined

  constructor(
    message: string,
    options: { trouble?: StoreFailure; where?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.trouble = options.trouble
    this.where = options.where
  }
}

/** All that is stored, by noun. */
export interface Tables {
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
  /** The phone that it is about. */
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

/** What is stored about a phone and a session together. */
export interface DeviceStats {
  /** Assertions of this device on this session that did not verify. */
  readonly failures: number
  /** What the tenant knows the device's subject by, once it has bonded there. */
  readonly subjectRef: string | undefined
  /** The decayed continuity of the device's bonds with the tenant, if it has any. */
  readonly continuity: number | undefined
}

/** Which sessions an operator lists. */
export interface SessionQuery {
  readonly tenantId?: TenantId | undefined
  /** Sessions that are in this state at this instant, whether or not their expiry is stored yet. */
  readonly state?: { readonly is: SessionState; readonly at: Instant } | undefined
  /** Only sessions older than this one: the next page after it. */
  readonly before?: Pick<Session, 'id' | 'createdAt'> | undefined
  readonly limit: number
}

/**
 * The sessions. Each change is one guarded statement that replaces the session the unit has read by what follows
 * from it: where anything else was stored in between, nothing is, and the answer is undefined.
 */
export interface SessionTable {
  /** Stores a new session with its first event. */
  create(session: Session): Work<void>
  find(id: SessionId): Work<Session | undefined>
  /**
   * Moves a session along a row of the transition table: one stored event, one step of `seq`. Of two concurrent
   * moves exactly one gets the session. Undefined too where the table does not allow it, by now or by time.
   */
  move(
    session: Session,
    move: Move,
    change: { now: Instant; set?: MoveChanges },
  ): Work<Session | undefined>
  /** A second valid assertion that misses the policy: counted, no change of state. */
  countMiss(
    session: Session,
    change: { now: Instant; stepUp: Session['stepUp'] },
  ): Work<Session | undefined>
  /** Pins a session to a phone, or takes the phone's newer nonce. Undefined where another phone, or an end, came first. */
  claim(
    session: Session,
    claim: { now: Instant; deviceId: DeviceId; nonce: string; claimedAt: Instant },
  ): Work<Session | undefined>
  /** Sets the hint, with one event, if it differs. Undefined where it does not, or the session no longer awaits a phone. */
  hint(
    session: Session,
    hint: NonNullable<Session['hint']>,
    now: Instant,
  ): Work<Session | undefined>
  /** Remembers the first Origin that showed the watch token. */
  storeOrigin(id: SessionId, origin: string): Work<void>
  /** Adds a line to the timeline that is not an event. At most 200 a session; of a phone that has not claimed it only while there are fewer than 100. */
  note(id: SessionId, note: TimelineNote): Work<void>
  timeline(id: SessionId): Work<Timeline['entries']>
  eventsAfter(id: SessionId, seq: number): Work<readonly StoredEvent[]>
  deviceStats(session: Session, device: Pick<Device, 'id' | 'subjectId'>): Work<DeviceStats>
  /** Counts an assertion that did not verify, and answers how many there were of this device on this session. */
  countFailure(id: SessionId, deviceId: DeviceId): Work<number>
  /** Live sessions whose time is up, oldest first. */
  overdue(now: Instant, limit: number): Work<readonly Session[]>
  /** Deletes what had ended at the instant, longest ago first, with all that belongs to it; at most `limit` sessions. @returns how many */
  purge(endedBy: Instant, limit: number): Work<number>
  /** Of the live sessions, the one that expires last; undefined where none is live. */
  latest(): Work<{ readonly rootKeyId: string; readonly createdAt: Instant } | undefined>
  /** The sessions pinned to a device that have not ended yet. */
  pinnedTo(deviceId: DeviceId): Work<readonly Session[]>
  /** Sessions for an operator, newest first. It reads the whole table. */
  list(query: SessionQuery): Work<readonly Session[]>
  storeContinuity(row: {
    tenantId: TenantId
    deviceId: DeviceId
    mean: number
    now: Instant
  }): Work<void>
}

/** A device token as it is stored. */
export interface DeviceToken {
  readonly id: string
  readonly hash: Uint8Array
  readonly issuedAt: Instant
}

/** A device by one of its tokens. */
export interface DeviceByToken {
  readonly device: Device
  readonly token: DeviceToken
  /** Whether the token waits for its first use beside the one in use. */
  readonly offered: boolean
}

export interface DeviceTable {
  /** Stores the first key of a new subject. @returns false where the key belongs to a device already */
  register(device: Device, token: DeviceToken): Work<boolean>
  /**
   * Stores a further key of a subject, `device.addedBy` being the device that approved it. False where, at this
   * moment, the key belongs to a device already, the approving device is not an active one of the same subject,
   * the subject is blocked, or it has `maxKeys` keys.
   */
  addKey(device: Device, token: DeviceToken, maxKeys: number): Work<boolean>
  /** Keeps what the maker said of a new key, for as long as the device is not removed. */
  keepReceipt(id: DeviceId, receipt: KeyReceipt): Work<void>
  find(id: DeviceId): Work<Device | undefined>
  /** By the token in use, or by the one that is offered beside it. */
  findByToken(tokenId: string): Work<DeviceByToken | undefined>
  /**
   * Raises the counter. False where it would not rise: of two equal ones exactly one is taken. A `webauthn` key that
   * does not count stays at 0. The latest `issued_at` of all that were taken is remembered.
   */
  raiseCounter(id: DeviceId, counter: number, issuedAt: Instant): Work<boolean>
  /**
   * Uses up the assertion of a request for a new token or a change of keys. As `raiseCounter`, but of a key whose
   * authenticator always reports 0 each request must be signed later than all before it, so none is taken twice.
   * False also where the device or its subject is blocked by now.
   */
  useRequest(id: DeviceId, counter: number, issuedAt: Instant): Work<boolean>
  /** Marks an active device suspect, if this assertion was signed after all that were taken. */
  suspect(id: DeviceId, issuedAt: Instant): Work<boolean>
  /** Moves a device along a row of its table. False where there is none, or the table does not let it move so. */
  move(id: DeviceId, move: DeviceMove): Work<boolean>
  /** Writes down what became of a device. The latest 200 are kept. */
  record(id: DeviceId, event: Pick<DeviceEvent, 'at' | 'kind' | 'step'>): Work<void>
  events(id: DeviceId): Work<readonly DeviceEvent[]>
  /** When another key of the device's subject was last added or removed; undefined where none was. */
  keysChangedAt(id: DeviceId): Work<Instant | undefined>
  /** Stores a token beside the one in use. One that was offered before and not used is dropped. */
  offerToken(id: DeviceId, token: DeviceToken): Work<void>
  /** Puts an offered token in the place of the one in use. Of two first uses at once one is `now`, the other `before`. */
  useToken(id: DeviceId, tokenId: string): Work<'now' | 'before' | 'never'>
  /** The newest devices, newest first. For operators: it reads the whole table. */
  recent(wanted: {
    readonly status?: Device['status']
    readonly subjectId?: SubjectId
    readonly limit: number
  }): Work<readonly Device[]>
  /** Uses a registration challenge up. False where it was used before. */
  useChallenge(challenge: string, expiresAt: Instant): Work<boolean>
  /** Deletes used challenges that nobody could use again, at most `limit`. @returns how many */
  purgeChallenges(now: Instant, limit: number): Work<number>
  /** How the device was moved before; undefined where nothing is remembered. */
  motion(id: DeviceId): Work<MotionMemory | undefined>
  /** Remembers this instead, for as long as the device is not removed. */
  storeMotion(id: DeviceId, memory: MotionMemory): Work<void>
  /** What a subject is called towards a tenant: the stored name, or the given one, stored now. */
  pairwise(row: { tenantId: TenantId; subjectId: SubjectId; subjectRef: string }): Work<string>
}

/** What is stored about a subject: its keys, and whether an operator has blocked it. */
export interface SubjectTable {
  /** The devices of a subject that were not removed, oldest first. */
  keys(id: SubjectId): Work<readonly Device[]>
  /** Since when the subject is blocked; undefined where it is not. */
  blockedAt(id: SubjectId): Work<Instant | undefined>
  /** Blocks all devices of the subject, present and future. @returns false where it was blocked already */
  block(id: SubjectId, now: Instant): Work<boolean>
  /** Ends the block. Devices that were blocked by themselves stay so. @returns false where it was not blocked */
  unblock(id: SubjectId): Work<boolean>
}

export interface ServerCredential {
  readonly keyId: string
  readonly hash: Uint8Array
  readonly tenant: Tenant
  readonly scope: Scope
  /** From when on it no longer works. In the past where it was revoked, ahead while it is being replaced. */
  readonly revokedAt: Instant | null
}

export interface PublishableKey {
  readonly key: string
  readonly tenant: Tenant
  readonly scope: Scope
  readonly revokedAt: Instant | null
}

/** What an operator can change about a tenant. */
export type TenantSettings = Pick<Tenant, 'name' | 'origins' | 'workflows'>

export interface TenantTable {
  create(tenant: Tenant, now: Instant): Work<void>
  find(id: TenantId): Work<Tenant | undefined>
  /**
   * Replaces the name, origins and workflows of a tenant in one guarded statement.
   *
   * @returns false where they differ from `before` in the meantime; nothing was written
   */
  update(before: Tenant, after: TenantSettings): Work<boolean>
  /** Replaces the limits of a tenant. @returns whether the tenant exists */
  setLimits(id: TenantId, limits: SomeLimits): Work<boolean>
  list(): Work<readonly Tenant[]>
  addServerCredential(row: {
    keyId: string
    tenantId: TenantId
    name?: string | undefined
    hash: Uint8Array
    last4: string
    scope: Scope
    now: Instant
  }): Work<void>
  addPublishableKey(row: {
    key: string
    tenantId: TenantId
    name?: string | undefined
    scope: Scope
    now: Instant
  }): Work<void>
  /** Ends a key at an instant. @returns false where there is no such key, or it ends as early already */
  revoke(key: string, at: Instant): Work<boolean>
  findServerCredential(keyId: string): Work<ServerCredential | undefined>
  findPublishableKey(key: string): Work<PublishableKey | undefined>
  listKeys(tenantId: TenantId): Work<readonly KeyListing[]>
  /** One key of any tenant, by the key id of a server credential or the publishable key itself. */
  findKey(key: string): Work<KeyListing | undefined>
  /** Whether any tenant has this origin. */
  knowsOrigin(origin: string): Work<boolean>
}

export interface KeyListing {
  readonly tenantId: TenantId
  readonly kind: 'server' | 'publishable'
  /** The key id of a server credential, or the publishable key itself. */
  readonly key: string
  /** What the operator calls the key. */
  readonly name: string | null
  readonly last4: string
  readonly scope: Scope
  readonly createdAt: Instant
  /** From when on it no longer works. */
  readonly revokedAt: Instant | null
}

export interface IdempotencyTable {
  /** Takes the key for this session. False where it is taken. */
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
  /** Frees a key whose session can no longer be read. */
  release(tenantId: TenantId, key: string): Work<void>
}
