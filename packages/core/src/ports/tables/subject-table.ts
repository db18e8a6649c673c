import type { SubjectId } from '@bonded/contract'
import type { Device, Instant } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** The keys of a subject and its block by an operator. */
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
}
