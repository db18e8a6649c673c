import type {
  DeviceId,
  RequestId,
  SessionId,
  SessionState,
  SubjectId,
  TenantId,
} from '@bonded/contract'
import type { DeviceEvent } from '../../src/domain/device-moves.ts'
import type { AskedSince } from '../../src/domain/inbox.ts'
import type { MotionMemory } from '../../src/domain/motion-memory.ts'
import type { Device, Instant, Session } from '../../src/domain/session.ts'
import type { KeyReceipt } from '../../src/ports/devices.ts'
import type { Cause } from '../../src/ports/store.ts'
import type { DeviceToken } from '../../src/ports/tables/device-table.ts'
import type { ClosedLog, LogHead, StoredTile } from '../../src/ports/tables/receipt-log-table.ts'
import type { StoredReceipt } from '../../src/ports/tables/receipt-table.ts'
import type { StoredRejection } from '../../src/ports/tables/rejection-table.ts'
import type { SubjectReference } from '../../src/ports/tables/subject-table.ts'
import type { Work } from '../../src/ports/work.ts'

/** An entry of a timeline: an event if it has a number, otherwise a note. */
export interface Entry {
  readonly seq: number | null
  readonly at: Instant
  readonly kind: string
  readonly state: SessionState
  readonly hint: Session['hint']
  readonly reason: string | null
  readonly step: string | null
  readonly requestId: RequestId | null
  readonly keyId: string | null
}

export interface StoredDevice {
  readonly device: Device
  readonly token: DeviceToken
  readonly offered: DeviceToken | undefined
  readonly requestIssuedAt: Instant | null
}

/** The bonds of a device with a tenant. */
interface Bonds {
  readonly tenantId: TenantId
  readonly deviceId: DeviceId
  readonly mean: number
  readonly updatedAt: Instant
  readonly completedAt: Instant | null
}

interface IdempotencyRow {
  readonly bodyMac: string
  readonly rootKeyId: string
  readonly sessionId: SessionId
  readonly createdAt: Instant
}

/** What a server credential has asked of a subject. */
interface InboxCaller extends AskedSince {
  readonly askedAt: Instant
}

/** Everything that is stored. A change replaces a value, so that a copy of the maps is a backup. */
export interface Memory {
  readonly sessions: Map<SessionId, Session>
  readonly entries: Map<SessionId, readonly Entry[]>
  /** The rows by session and device. */
  readonly failures: Map<string, number>
  /** The rows by tenant and device. */
  readonly bonds: Map<string, Bonds>
  readonly devices: Map<DeviceId, StoredDevice>
  readonly deviceEvents: Map<DeviceId, readonly DeviceEvent[]>
  readonly motion: Map<DeviceId, MotionMemory>
  readonly keyReceipts: Map<DeviceId, KeyReceipt>
  /** The used challenges, with their expiry. */
  readonly challenges: Map<string, Instant>
  /** The blocked subjects, with the time of their block. */
  readonly blocked: Map<SubjectId, Instant>
  /** The rows by tenant and subject. */
  readonly references: Map<string, SubjectReference>
  /** The rows by tenant, time and request. */
  readonly rejections: Map<string, StoredRejection>
  /** The rows by tenant and key. */
  readonly idempotency: Map<string, IdempotencyRow>
  /** The settings, each with the version that stored it first. */
  readonly settings: Map<string, string>
  /** The rows by tenant, subject and server credential. */
  readonly inboxCallers: Map<string, InboxCaller>
  /** The rows by session and state. */
  readonly receipts: Map<string, StoredReceipt>
  readonly logHead: Map<'head', LogHead>
  /** The rows by level and index. */
  readonly logTiles: Map<string, { readonly tile: StoredTile; readonly appendedAt: Instant }>
  /** The rows by epoch. */
  readonly closedLogs: Map<string, ClosedLog>
}

export function emptyMemory(): Memory {
  return {
    sessions: new Map(),
    entries: new Map(),
    failures: new Map(),
    bonds: new Map(),
    devices: new Map(),
    deviceEvents: new Map(),
    motion: new Map(),
    keyReceipts: new Map(),
    challenges: new Map(),
    blocked: new Map(),
    references: new Map(),
    rejections: new Map(),
    idempotency: new Map(),
    settings: new Map(),
    inboxCallers: new Map(),
    receipts: new Map(),
    logHead: new Map(),
    logTiles: new Map(),
    closedLogs: new Map(),
  }
}

/** Copies everything that is stored. @returns a function that restores it */
export function backup(memory: Memory): () => void {
  const copies = Object.values(memory).map(
    (map: Map<unknown, unknown>) => [map, new Map(map)] as const,
  )
  return () => {
    for (const [map, copy] of copies) {
      map.clear()
      for (const [key, value] of copy) map.set(key, value)
    }
  }
}

/** The key of a value that several ids identify. */
export function keyOf(...parts: readonly (string | number)[]): string {
  return parts.join(' ')
}

/** The request of the current unit of work, or undefined without one. */
export type CauseOf = () => Cause | undefined

/** A table whose methods return their values at once. */
export type Plain<Table> = {
  readonly [Method in keyof Table]: Table[Method] extends (...given: infer Given) => Work<infer T>
    ? (...given: Given) => T
    : never
}

/** The table whose methods are units of work that never wait. */
export function tableOf<Table extends object>(plain: Plain<Table>): Table {
  const methods = Object.entries<(...given: never[]) => unknown>(plain).map(([name, method]) => [
    name,
    // oxlint-disable-next-line require-yield -- there is no database to wait for
    function* (...given: never[]): Work<unknown> {
      return method(...given)
    },
  ])
  return Object.fromEntries(methods) as Table
}
