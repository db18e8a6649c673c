import type { DeviceId, SubjectId, TenantId } from '@bonded/contract'
import type { Device, Instant } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** A subject as one tenant knows it. */
export interface SubjectReference {
  readonly tenantId: TenantId
  readonly subjectId: SubjectId
  /** The tenant's pseudonym for the subject. */
  readonly subjectRef: string
  /** When the tenant blocked the subject; undefined if it has not. */
  readonly blockedAt: Instant | undefined
  /** Until when the user's report keeps the tenant's requests out of the inbox. 0 without one. */
  readonly inboxPausedUntil: Instant
  /** How many requests of the tenant the user has reported. */
  readonly inboxReports: number
}

type NamedReference = Pick<SubjectReference, 'tenantId' | 'subjectId'>

/** The keys of a subject, and its blocks by an operator and by tenants. */
export interface SubjectTable {
  /** The devices of a subject that are not removed, oldest first. */
  keys(id: SubjectId): Work<readonly Device[]>
  /** Every device of a subject, also the removed ones, oldest first. */
  family(id: SubjectId): Work<readonly Device[]>
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
  /** The subject that a tenant, or any, knows by this reference; undefined if there is none. */
  find(tenantId: TenantId | undefined, subjectRef: string): Work<SubjectReference | undefined>
  /** The subject as every tenant knows it that it has bonded with. */
  references(id: SubjectId): Work<readonly SubjectReference[]>
  /** When each device of the subject last bonded with the tenant. */
  lastBonds(reference: SubjectReference): Work<ReadonlyMap<DeviceId, Instant>>
  /**
   * Blocks all present and future devices of the subject at this tenant.
   *
   * @returns false if it was blocked already
   */
  blockAt(reference: NamedReference, now: Instant): Work<boolean>
  /** Counts a report of the user, and pauses the tenant in the user's inbox. */
  pauseInbox(reference: NamedReference, until: Instant): Work<void>
  /** Ends the pause. @returns false if there was none */
  resumeInbox(reference: NamedReference, now: Instant): Work<boolean>
  /** Ends the tenant's own block. @returns false if the tenant had not blocked the subject */
  unblockAt(reference: NamedReference): Work<boolean>
}
