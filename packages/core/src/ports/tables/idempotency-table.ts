import type { SessionId, TenantId } from '@bonded/contract'
import type { Instant, Session } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** The idempotency keys of creates, each with the session that it created. */
export interface IdempotencyTable {
  /** Assigns the key to this session. @returns false if the key is in use */
  take(row: {
    tenantId: TenantId
    key: string
    bodyMac: string
    rootKeyId: string
    session: Pick<Session, 'id' | 'createdAt' | 'sessionTtlMs'>
  }): Work<boolean>
  find(
    tenantId: TenantId,
    key: string,
  ): Work<{ bodyMac: string; rootKeyId: string; sessionId: SessionId } | undefined>
  /**
   * Releases a key whose session can no longer be read, or was not created, unless another session
   * has it by now.
   */
  release(tenantId: TenantId, key: string, sessionId: SessionId): Work<void>
  /**
   * Deletes keys of sessions that were created by the instant, at most `limit`. @returns how many
   */
  purge(createdBy: Instant, limit: number): Work<number>
}
