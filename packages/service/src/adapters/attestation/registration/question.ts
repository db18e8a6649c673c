import type { RegistrationOf } from '@bonded/contract'
import type { Result } from '../../../domain/refusal.ts'
import type { Instant } from '../../../domain/session.ts'
import type { RegisteredKey } from '../../../ports/devices.ts'
import type { TrustedPhones } from '../trusted-phones.ts'

/** The formats with an attestation by the vendor. */
export type AttestedFormat = 'apple-app-attest' | 'android-key' | 'webauthn'

/** What a worker gets when it starts. Plain data, because it is copied to another thread. */
export interface RegistrationTrust {
  readonly phones: TrustedPhones
  /** The service's own; its host is the RP ID. */
  readonly origin: string
}

/** One request to a worker. */
export interface QuestionOf<Format extends AttestedFormat> {
  readonly format: Format
  readonly request: Omit<RegistrationOf<Format>, 'format'>
  readonly now: Instant
}

export type RegistrationQuestion = {
  [Format in AttestedFormat]: QuestionOf<Format>
}[AttestedFormat]

/** The worker's answer. */
export interface RegistrationVerdict {
  readonly result: Result<RegisteredKey>
  /** Of an Android chain under Google's roots. The thread that has the list checks them. */
  readonly serials: readonly string[]
}

export const NO_SERIALS: readonly string[] = []

/** Verifies one registration, but for revocation. */
export type RegistrationVerifier<Format extends AttestedFormat> = (
  request: QuestionOf<Format>['request'],
  now: Instant,
) => RegistrationVerdict
