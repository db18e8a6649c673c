import type { PassportSignal, PassportTier } from '@bonded/contract'
import type { Result } from '../domain/rejection.ts'
import type { Tenant } from '../domain/tenant.ts'

/** The result of a passport check. It contains no data about the holder. */
export interface PassportFinding {
  readonly tier: PassportTier
  /** The check that prevented a higher tier, for the timeline. */
  readonly note?: string
  /** The issuing state in the document. Present from tier `document` on. */
  readonly issuingState?: string
  /**
   * A keyed hash of issuing state and document number. One document always has the same value.
   * Without the key, the value does not reveal the document.
   */
  readonly documentRef?: string
}

/**
 * Verifies passports off this thread, each within a time limit. Never rejects: a document that
 * crashes the verifier or exceeds the limit gets tier `none`.
 *
 * When too many documents wait, the rejection is `overloaded`. Other requests are not delayed.
 */
export interface PassportVerifier extends AsyncDisposable {
  verify(query: {
    readonly passport: PassportSignal
    /** The nonce of the request. The chip's challenge derives from it. */
    readonly nonce: string
    /** A document of a simulated state is never accepted for a production tenant. */
    readonly environment: Tenant['environment']
  }): Promise<Result<PassportFinding>>
}
