import type { EvidenceSignals, Secret } from '@bonded/contract'
import type { CarrierFinding } from '../domain/evidence.ts'

/** The input of a carrier check. */
export interface CarrierQuery {
  /**
   * The number that the tenant gave with the session. The phone's own report never sets it.
   * Null disables the check.
   */
  readonly phoneNumber: Secret | null
  readonly signal: EvidenceSignals['carrier'] | undefined
}

/** The result of a carrier check. */
export interface CarrierResult {
  readonly finding: CarrierFinding
  /** Which fact is missing and why, for the timeline. A fixed set of words, without the number. */
  readonly note?: string
  /** Whether the carrier failed, or rejected the service itself. */
  readonly isUnavailable?: boolean
}

/**
 * Queries the phone's carrier. Never rejects and never exceeds its time budget. When the carrier
 * cannot be reached, the finding takes the unfavorable value and `note` gives the reason.
 */
export interface CarrierProvider {
  check(query: CarrierQuery): Promise<CarrierResult>
}
