import type { SubjectId, TenantId } from '@bonded/contract'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Instant } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** Which entries to list. */
export interface AuditQuery {
  readonly since?: Instant | undefined
  readonly until?: Instant | undefined
  readonly tenantId?: TenantId | undefined
  /** The reference of a user, as entries have it. */
  readonly person?: string | undefined
  readonly action?: string | undefined
  /** Only entries after this number. */
  readonly after?: number | undefined
  readonly limit: number
}

/** The audit log. Entries are only ever added, and number themselves without a gap. */
export interface AuditTable {
  /** Makes audited units wait for each other, on every node, until the end of the unit. */
  lock(): Work<void>
  last(): Work<AuditEntry | undefined>
  add(entry: AuditEntry): Work<void>
  /** The entries in their order, oldest first. */
  list(query: AuditQuery): Work<readonly AuditEntry[]>
  /** The key of a user's references; undefined if there is none. */
  personKey(id: SubjectId): Work<string | undefined>
  /** Stores the key of a user's references, unless the user has one. */
  addPersonKey(id: SubjectId, key: string): Work<void>
  /** Deletes the key of a user: no entry can be attributed to the user from then on. */
  forgetPerson(id: SubjectId): Work<void>
}
