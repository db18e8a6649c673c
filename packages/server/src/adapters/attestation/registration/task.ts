import type { RegistrationOf } from '@bonded/contract'
import type { Result } from '@bonded/core/domain/rejection'
import type { Instant } from '@bonded/core/domain/session'
import type { RegisteredKey } from '@bonded/core/ports/devices'
import type { TrustedPhones } from '../phone-trust.ts'

/** The formats with an attestation by the vendor. */
export type AttestedFormat = 'apple-app-attest' | 'android-key' | 'webauthn'

/** The data a worker starts with. Plain data, because it is copied to another thread. */
export interface RegistrationTrust {
  readonly phones: TrustedPhones
  /** The service's own origin. */
  readonly origin: string
  /** The relying party id of new browser keys; by default the host of the origin. */
  readonly rpId?: string | undefined
}

/** One task for a worker. */
export interface TaskOf<Format extends AttestedFormat> {
  readonly format: Format
  readonly request: Omit<RegistrationOf<Format>, 'format'>
  readonly now: Instant
}

export type RegistrationTask = {
  [Format in AttestedFormat]: TaskOf<Format>
}[AttestedFormat]

/** A worker's verdict. */
export interface RegistrationVerdict {
  readonly result: Result<RegisteredKey>
  /**
   * Serials of an Android chain under Google's roots. The main thread has the list and checks them.
   */
  readonly serials: readonly string[]
}

export const NO_SERIALS: readonly string[] = []

/** Verifies one registration without the revocation check. */
export type RegistrationVerifier<Format extends AttestedFormat> = (
  request: TaskOf<Format>['request'],
  now: Instant,
) => RegistrationVerdict
