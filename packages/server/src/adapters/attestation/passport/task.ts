import type {
  ActiveAuthenticationStep,
  PassiveAuthenticationStep,
} from '@bonded/attestation/passport'
import type { PassportSignal } from '@bonded/contract'
import type { Instant } from '@bonded/core/domain/session'
import type { Tenant } from '@bonded/core/domain/tenant'

/** One task for a worker. Plain data, because it is copied to another thread. */
export interface PassportTask {
  readonly passport: PassportSignal
  readonly challenge: Uint8Array
  readonly environment: Tenant['environment']
  readonly now: Instant
}

/**
 * A worker's verdict. It contains no data of the holder but the issuing state and document number.
 */
export type PassportVerdict =
  | { readonly tier: 'none'; readonly step: PassiveAuthenticationStep | 'encoding' }
  | {
      readonly tier: 'document'
      readonly step: ActiveAuthenticationStep
      readonly issuingState: string
      readonly documentNumber: string
    }
  | { readonly tier: 'chip'; readonly issuingState: string; readonly documentNumber: string }
