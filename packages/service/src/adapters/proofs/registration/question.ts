import type { RegistrationOf } from '@bonded/contract'
import type { Result } from '../../../domain/refusal.ts'
import type { Instant } from '../../../domain/session.ts'
import type { RegisteredKey } from '../../../ports/proofs.ts'
import type { TrustedPhones } from '../trusted-phones.ts'

/** The formats whose keys somebody vouches for. */
export type VouchedFormat = 'apple-app-attest' | 'android-key' | 'webauthn'

/** What a worker is given when it starts. Plain data, as all that goes to another thread. */
export interface RegistrationTrust {
  readonly phones: TrustedPhones
  /** The service's own; its host is the RP ID. */
  readonly origin: string
}

/** What a worker is asked. */
export interface QuestionOf<Format extends VouchedFormat> {
  readonly format: Format
  readonly request: Omit<RegistrationOf<Format>, 'format'>
  readonly now: Instant
}

export type RegistrationQuestion = { [Format in VouchedFormat]: QuestionOf<Format> }[VouchedFormat]

/** What it answers. */
export interface RegistrationVerdict {
  readonly result: Result<RegisteredKey>
  /** Of the certificates below Google's roots: whether one was revoked is judged where the list is fetched and kept. */
  readonly serials: readonly string[]
}
