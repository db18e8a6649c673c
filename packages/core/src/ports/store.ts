import type { RequestId, SessionId, Unreadiness } from '@bonded/contract'
import type { Device, Instant, Session } from '../domain/session.ts'
import type { Due, PurgedKind } from '../domain/retention.ts'
import type { Tenant } from '../domain/tenant.ts'
import type { ChangeNotification } from './bus.ts'
import type { NodeMessages } from './peers.ts'
import type { AuditTarget } from '../domain/audit.ts'
import type { AuditTable } from './tables/audit-table.ts'
import type { DeviceTable } from './tables/device-table.ts'
import type { IdempotencyTable } from './tables/idempotency-table.ts'
import type { PushTable } from './tables/push-table.ts'
import type { ReceiptLogTable } from './tables/receipt-log-table.ts'
import type { ReceiptTable } from './tables/receipt-table.ts'
import type { RejectionTable } from './tables/rejection-table.ts'
import type { DeviceStats, SessionTable } from './tables/session-table.ts'
import type { SettingTable } from './tables/setting-table.ts'
import type { SubjectDataTable } from './tables/subject-data-table.ts'
import type { SubjectTable } from './tables/subject-table.ts'
import type { TenantTable } from './tables/tenant-table.ts'
import type { TotalTable } from './tables/total-table.ts'
import type { WebhookTable } from './tables/webhook-table.ts'
import type { Work } from './work.ts'

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
   * Whether notifications announce such changes now, so that a scheduled read only finds those that
   * lost theirs. Absent if nothing announces them.
   */
  readonly isNotified?: () => boolean
  /**
   * The free part of what the store can take without a long wait for the database: 1 if no call
   * waits for it, 0 or less if no further one should begin. Absent if calls never wait for others.
   */
  readonly free?: () => number
  /** Messages between the nodes of this store. Absent if only one node can use it. */
  readonly messages?: NodeMessages
}

/** What prevents a store from working, if it can tell. */
export const STORE_FAILURES = [
  'full',
  'locked',
  'read_only',
  'cannot_open',
  'not_a_database',
  'damaged',
  'input_output',
  'unreachable',
  'busy',
  'rejected',
  'unsuitable',
  'not_migrated',
] as const
export type StoreFailure = (typeof STORE_FAILURES)[number]

/** The store could not be read or written. */
export class StoreError extends Error {
  readonly code = 'store_unavailable'
  override readonly name = 'StoreError'
  readonly kind: StoreFailure | undefined
  /** The location of the store, for the operator who repairs it. */
  readonly where: string | undefined
  /** Whether it is a server, which is repaired in another way than a file. */
  readonly isServer: boolean

  constructor(
    message: string,
    options: { kind?: StoreFailure; where?: string; isServer?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.kind = options.kind
    this.where = options.where
    this.isServer = options.isServer ?? false
  }
}

/** The rows that decide about a phone's call on a session. */
export interface PhoneRows {
  readonly device: Device
  readonly session: Session
  readonly tenant: Tenant
  readonly stats: DeviceStats
}

/** A node that serves, and how long ago it sent its last message. */
export interface ServingNode {
  readonly node: string
  /** What its version knows: `domain/node-level.ts`. */
  readonly level: number
  readonly ageMs: number
}

/** All stored data, by noun. */
export interface Tables {
  /** Whether the unit may write. */
  readonly mayWrite: boolean
  /**
   * Finds the rows of a phone's call, in one message if the database is remote. A unit that may
   * write locks the subject of the device first, and then the session.
   *
   * @returns undefined if one of them does not exist
   */
  phoneRows(id: SessionId, device: Pick<Device, 'id' | 'subjectId'>): Work<PhoneRows | undefined>
  readonly sessions: SessionTable
  readonly devices: DeviceTable
  readonly subjects: SubjectTable
  readonly tenants: TenantTable
  readonly idempotency: IdempotencyTable
  readonly push: PushTable
  readonly webhooks: WebhookTable
  readonly rejections: RejectionTable
  readonly settings: SettingTable
  readonly totals: TotalTable
  /**
   * Puts a level of nodes in use, in a unit that writes, unless a node below it serves, or did so
   * in the last 10 seconds. A file of SQLite has one node, and is not migrated while it serves. Of
   * a claim and a node that starts at the same time, one is refused.
   *
   * @returns false if such a node serves. Then nothing was changed
   */
  claimLevel(level: number): Work<boolean>
  /** The highest level that was claimed. */
  usedLevel(): Work<number>
  /** Stores that a node begins to serve, unless a level above its own is in use. */
  admitNode(node: Pick<ServingNode, 'node' | 'level'>): Work<boolean>
  /** The nodes that have sent a message in the last 10 seconds. None on SQLite, which has one. */
  nodes(): Work<readonly ServingNode[]>
  readonly receipts: ReceiptTable
  readonly receiptLog: ReceiptLogTable
  readonly audit: AuditTable
  /**
   * Names what a unit is about to create or change, for its entry in the audit log. A unit without
   * an entry needs no names, and ignores them.
   */
  concerns(target: AuditTarget): Work<void>
  readonly subjectData: SubjectDataTable
  /**
   * Deletes rows that are due. A receipt stays until it is in the log: without its entry, the log
   * could not show that a deleted receipt existed.
   *
   * @returns how many
   */
  purge(kind: PurgedKind, due: Due): Work<number>
}
