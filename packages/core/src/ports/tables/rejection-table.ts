import type { RequestId, SessionId, TenantId } from '@bonded/contract'
import type { Instant } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** Why a request about a session was rejected. It has no context, no address, and no device. */
export interface StoredRejection {
  readonly tenantId: TenantId
  readonly at: Instant
  readonly requestId: RequestId
  readonly sessionId: SessionId
  /** The user whom the session names, or to whom the phone said that it belongs. */
  readonly subjectRef: string | null
  readonly reason: string
  /** The exact check that rejected the request. */
  readonly step: string | null
}

/** The place of a rejection in the order of a list. */
export type RejectionKey = Pick<StoredRejection, 'at' | 'requestId'>

export interface RejectionQuery {
  /** Undefined for those of every tenant, which only the operator reads. */
  readonly tenantId: TenantId | undefined
  readonly requestId?: RequestId | undefined
  readonly sessionId?: SessionId | undefined
  readonly subjectRef?: string | undefined
  readonly reason?: string | undefined
  readonly since?: Instant | undefined
  readonly until?: Instant | undefined
  /** Only rejections before this one: the next page after it. */
  readonly before?: RejectionKey | undefined
  readonly limit: number
}

/** A page of rejections. `next` is null on the last one. */
export interface RejectionPage {
  readonly rejections: readonly StoredRejection[]
  readonly next: RejectionKey | null
}

/** The reasons of rejections, which outlive their sessions. The timeline of a session adds them. */
export interface RejectionTable {
  /**
   * Rejections, newest first. It reads a bounded part of the table, so with filters a page can have
   * fewer rejections than the limit although others follow.
   */
  list(query: RejectionQuery): Work<RejectionPage>
}
