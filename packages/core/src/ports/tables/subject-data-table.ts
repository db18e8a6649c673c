import type { DeviceId, SessionId, SubjectId, TenantId } from '@bonded/contract'
import type { Session } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** The tables that are searched for rows of a subject, by a key each, in bounded parts. */
export const SEARCHED_TABLES = [
  'session',
  'session_device',
  'receipt',
  'rejection',
  'webhook_delivery',
] as const
export type SearchedTable = (typeof SEARCHED_TABLES)[number]

/** Whose rows are searched for. */
export interface SubjectScope {
  readonly subjectId: SubjectId
  /** Only the rows of this tenant. Undefined: those of all tenants, and the subject itself. */
  readonly tenantId: TenantId | undefined
  /** Every device of the subject, also the removed ones. */
  readonly deviceIds: readonly DeviceId[]
  /** The subject as the tenants know it. */
  readonly references: readonly { readonly tenantId: TenantId; readonly subjectRef: string }[]
  /** Sessions of the subject, which rows without another link name. */
  readonly sessionIds: readonly SessionId[]
  /** The keys of the stored ones. */
  readonly sessionKeys: readonly number[]
}

/** The keys of a part of a table: after one, up to another. */
export interface Part {
  readonly after: PartKey | undefined
  readonly to: PartKey
}

export type PartKey = string | number

/** A row as it is stored, by column. */
export type StoredRow = Readonly<Record<string, string | number | null | Uint8Array>>

/** Everything that the store has of one subject. */
export interface SubjectDataTable {
  /** The last key of the next part of a table. Undefined at the end of the table. */
  partEnd(table: SearchedTable, after: PartKey | undefined): Work<PartKey | undefined>
  /** The rows of the subject, or of all subjects of a tenant, in a part of a table. */
  rows(table: SearchedTable, of: SubjectScope | TenantId, part: Part): Work<readonly StoredRow[]>
  /** Deletes these rows. @returns how many */
  delete(table: SearchedTable, of: SubjectScope | TenantId, part: Part): Work<number>
  /** Deletes a session that has ended, with the rows that depend on it. */
  deleteSession(session: Session): Work<void>
  /** The rows of the subject, its devices, and its sessions in all other tables, by table. */
  ofSubject(scope: SubjectScope): Work<StoredRows>
  /**
   * Deletes the rows of the subject and its devices. Without the key of its references, the entries
   * of the audit log name no user.
   */
  deleteSubject(scope: SubjectScope): Work<void>
}

export type StoredRows = Readonly<Record<string, readonly StoredRow[]>>
