import type {
  DeviceId,
  EndedReason,
  QuorumId,
  SessionId,
  SessionState,
  SubjectId,
  TenantId,
  Timeline,
} from '@bonded/contract'
import type { MoveChanges } from '../../domain/changes.ts'
import type { EventDetails } from '../../domain/events.ts'
import type { AskedSince, PastRequest } from '../../domain/inbox.ts'
import type { Due } from '../../domain/retention.ts'
import type { Device, Instant, Session } from '../../domain/session.ts'
import type { Move } from '../../protocol/states.ts'
import type { Work } from '../work.ts'

/** What happened to a session without a change of its state. */
export interface TimelineNote {
  readonly at: Instant
  readonly kind: string
  readonly reason?: string | null
  readonly step?: string | null
  /** The phone that the note concerns. */
  readonly by?: DeviceId
  /** The tenant's pseudonym for the phone's user, if the tenant knows them. */
  readonly subjectRef?: string | undefined
}

/** A change of a session, as its subscribers see it. */
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
  /** Whether the tenant has blocked the device's subject. */
  readonly subjectBlocked: boolean
  /** The decayed continuity of the device's bonds with the tenant; undefined without a bond. */
  readonly continuity: number | undefined
  /** Whether a bond of the device with the tenant was completed. */
  readonly hasCompleted: boolean
}

/** The sessions that an operator lists. */
export interface SessionQuery {
  readonly tenantId?: TenantId | undefined
  /** Sessions that are in this state at this instant, whether or not their expiry is stored yet. */
  readonly state?: { readonly is: SessionState; readonly at: Instant } | undefined
  readonly endedReason?: EndedReason | undefined
  /** The user whom the session names, or who has approved it. */
  readonly subjectRef?: string | undefined
  /** Created at this time or later, or at this time or before. */
  readonly since?: Instant | undefined
  readonly until?: Instant | undefined
  /** Only sessions older than this one: the next page after it. */
  readonly before?: SessionId | undefined
  readonly limit: number
}

/** The inbox of a subject, as a device may see it. */
export interface InboxQuery {
  readonly device: Pick<Device, 'id' | 'subjectId'>
  /** The earliest creation of a session. */
  readonly from: Instant
  readonly now: Instant
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
  create(session: Session, about?: EventDetails): Work<boolean>
  find(id: SessionId): Work<Session | undefined>
  /**
   * Moves a session along a row of the transition table: one stored event, one step of `seq`. Of
   * two concurrent moves exactly one succeeds. Undefined also if the table or the session's expiry
   * does not allow the move.
   *
   * @param change.empties whether the same statement empties what the session has of its user
   */
  move(
    session: Session,
    move: Move,
    change: { now: Instant; set?: MoveChanges; empties?: boolean; about?: EventDetails },
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
  /**
   * Deletes the verification of a bond whose phone was removed or blocked. The state does not
   * change.
   */
  withdraw(session: Session): Work<void>
  /**
   * Stores the first report about a bond that has expired. Of any number of concurrent ones exactly
   * one gets true. The state does not change.
   */
  reportLate(session: Session, report: Pick<Session, 'outcome'> & { now: Instant }): Work<boolean>
  /** Stores the first Origin that presented the watch token. */
  storeOrigin(id: SessionId, origin: string): Work<void>
  /**
   * Adds a note to the timeline. A session has at most 200 notes. A phone that has not claimed the
   * session can add one only while there are fewer than 100. A rejection is stored beside its
   * session too, for a search after the session is purged: 40 of a session, and 20 of phones that
   * have not claimed it.
   */
  note(id: SessionId, note: TimelineNote): Work<void>
  timeline(id: SessionId): Work<Timeline['entries']>
  eventsAfter(id: SessionId, seq: number): Work<readonly StoredEvent[]>
  deviceStats(session: Session, device: Pick<Device, 'id' | 'subjectId'>): Work<DeviceStats>
  /** Counts an invalid assertion. @returns how many this device has sent on this session */
  countFailure(id: SessionId, deviceId: DeviceId): Work<number>
  /**
   * Claims sessions whose receipt is due, the longest waiting one first. No two nodes get the same
   * one before the claim ends.
   */
  claimReceipts(claim: { now: Instant; until: Instant; limit: number }): Work<readonly Session[]>
  /** Stores that the receipt was made, unless the session has moved since it was read. */
  receiptMade(session: Session): Work<void>
  /** Live sessions that have reached their expiry, oldest first. */
  overdue(now: Instant, limit: number): Work<readonly Session[]>
  /** Live sessions of a tenant that the table allows this move, oldest expiry first. */
  movable(tenantId: TenantId, move: Move, limit: number): Work<readonly Session[]>
  /**
   * Deletes ended sessions that are due, with their dependent rows.
   *
   * @returns the ids of the deleted sessions
   */
  purge(due: Due): Work<readonly SessionId[]>
  /**
   * The sessions that wait in the inbox of a subject and that a device may open, at most 200: first
   * the newest one of each tenant, then its second, and so on.
   */
  waiting(query: InboxQuery): Work<readonly Session[]>
  /** How many they are. */
  countWaiting(query: InboxQuery): Work<number>
  /**
   * The requests of a tenant to a subject in the time of `INBOX_HISTORY_MS` before `now`. No other
   * unit adds one before this one ends.
   */
  inboxHistory(
    tenantId: TenantId,
    subjectId: SubjectId,
    now: Instant,
  ): Work<readonly (PastRequest & Pick<Session, 'id'>)[]>
  /** What a credential has asked of a subject since their last approval and their last answer. */
  askedSince(by: {
    tenantId: TenantId
    subjectId: SubjectId
    caller: string
    now: Instant
  }): Work<AskedSince>
  /**
   * Counts what became of a request in an inbox, for the credential that created it. Its lock is
   * the last one of a unit, so that units that end several requests wait for no other.
   */
  countRequest(session: Session, what: 'asked' | 'withdrawn' | 'declined' | 'approved'): Work<void>
  /**
   * Deletes the counts that affect no later request. Checks up to a thousand rows.
   *
   * @param after the user up to whom earlier calls have checked, or an empty text
   * @returns the same for the next call
   */
  purgeCallers(after: string, now: Instant): Work<string>
  /** The session that was created last; undefined if there is none. */
  latest(): Work<{ readonly rootKeyId: string; readonly createdAt: Instant } | undefined>
  /** All sessions of a quorum, in one snapshot. */
  ofQuorum(id: QuorumId): Work<readonly Session[]>
  /** The live sessions that are pinned to a device. */
  pinnedTo(deviceId: DeviceId): Work<readonly Session[]>
  /**
   * Sessions for an operator, newest first. With a filter it reads a bounded part of the table, so
   * a page can have fewer sessions than the limit although others follow.
   *
   * @returns `readTo` is the last session that a filter has read, if older ones may follow
   */
  list(query: SessionQuery): Work<{
    readonly sessions: readonly Session[]
    readonly readTo: SessionId | undefined
  }>
  storeContinuity(row: {
    tenantId: TenantId
    deviceId: DeviceId
    mean: number
    now: Instant
  }): Work<void>
  /** Stores that a bond of the device with the tenant was completed, unless one was before. */
  storeCompletion(row: { tenantId: TenantId; deviceId: DeviceId; now: Instant }): Work<void>
}
