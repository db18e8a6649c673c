import type { SubjectId, TenantId } from '@bonded/contract'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Instant } from '../../domain/session.ts'
import type { Due } from '../../domain/retention.ts'
import type { Work } from '../work.ts'

/** Which entries to list. */
export interface AuditQuery {
  readonly since?: Instant | undefined
  readonly until?: Instant | undefined
  readonly tenantId?: TenantId | undefined
  /** The reference of a user, as entries have it. */
  readonly person?: string | undefined
  readonly action?: string | undefined
  /** Actions whose entries are left out. */
  readonly without?: readonly string[]
  /** Only entries whose retention has not ended. */
  readonly hasContent?: true
  /** Only entries after this number. */
  readonly after?: number | undefined
  /** Only entries before this number. */
  readonly before?: number | undefined
  /** Whether the newest come first. */
  readonly newestFirst?: boolean | undefined
  readonly limit: number
}

/** The audit log. Entries are added, and number themselves without a gap, until they are purged. */
export interface AuditTable {
  /** Makes audited units wait for each other, on every node, until the end of the unit. */
  lock(): Work<void>
  last(): Work<AuditEntry | undefined>
  add(entry: AuditEntry): Work<void>
  /** The entries in their order, oldest first unless the query says otherwise. */
  list(query: AuditQuery): Work<readonly AuditEntry[]>
  /** The entries whose content is due: by the period of their tenant, and at the longest of all. */
  due(due: Due): Work<readonly AuditEntry[]>
  /** Deletes the content of an entry. */
  empty(entry: AuditEntry, contentHash: string): Work<void>
  /**
   * Deletes the entries without content before the oldest one with content, if the log has them.
   * The last of them stays: it shows the time up to which entries are deleted.
   */
  dropEmpty(): Work<void>
  /** The key of a user's references; undefined if there is none. */
  personKey(id: SubjectId): Work<string | undefined>
  /** Stores the key of a user's references, unless the user has one. */
  addPersonKey(id: SubjectId, key: string): Work<void>
}
