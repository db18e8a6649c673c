import type { SessionId, TenantId } from '@bonded/contract'
import type { ReceiptState } from '../../domain/receipts.ts'
import type { Instant } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** A signed receipt, and what decides who may fetch it. */
export interface StoredReceipt {
  readonly sessionId: SessionId
  readonly state: ReceiptState
  readonly tenantId: TenantId
  readonly workflow: string
  readonly action: string
  /** SHA(secret) of the browser that proved itself; null where the workflow requires none. */
  readonly browserCommitment: string | null
  /** The compact JWS. */
  readonly jws: string
  readonly madeAt: Instant
  /** Its place in the log; null until it is appended. */
  readonly logIndex: number | null
}

/** The receipts. They outlive their sessions, and never change. */
export interface ReceiptTable {
  /**
   * Stores a receipt, unless the session has one of this state. Of two that are made at once, the
   * first remains.
   */
  add(receipt: StoredReceipt): Work<void>
  /** The latest receipt of a session: that of its completion, otherwise that of its bond. */
  find(id: SessionId): Work<StoredReceipt | undefined>
  /** The receipts that are not in the log, oldest first. */
  unlogged(limit: number): Work<readonly StoredReceipt[]>
  setLogIndex(receipt: StoredReceipt, index: number): Work<void>
}
