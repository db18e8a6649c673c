import type { AppAttest, DeviceFormat, EvidenceSignals, RegistrationOf } from '@bonded/contract'
import type { CarrierFinding } from '../domain/evidence.ts'
import type { Result } from '../domain/refusal.ts'
import type { Device, Instant } from '../domain/session.ts'

/** What a verified assertion says. */
export interface VerifiedAssertion {
  readonly counter: number
  /** Whether the assertion itself shows that a person was verified. Only some formats can. */
  readonly userVerified: boolean
}

/**
 * Verifies assertions of one format. Synchronous, because a signature takes 67 µs on this thread and a detour costs more.
 * Every refusal is `assertion_invalid` with the failing `step`; the counter is not judged here but by the store.
 */
export interface AssertionVerifier {
  verify(assertion: { device: Device; payload: string; appAttest: AppAttest }): Result<VerifiedAssertion>
}

/** The verifiers of the formats that this service knows. */
export type AssertionVerifiers = Readonly<Record<DeviceFormat, AssertionVerifier>>

/** What a registration proves of a key. */
export interface RegisteredKey {
  readonly keyId: string
  /** SPKI, DER. */
  readonly publicKey: Uint8Array
  readonly environment: Device['environment']
  readonly appId: string
  /** The counter that the registration showed. The first assertion rises above it. */
  readonly counter?: number
  readonly webauthn?: Device['webauthn']
  readonly build?: Device['build']
  readonly receipt?: KeyReceipt
}

/**
 * What the maker of the phone says of a key beside its attestation: a signal for whoever investigates a fraud, not a
 * proof. Where it does not verify, the step says at which check.
 */
export type KeyReceipt =
  | {
      readonly verified: true
      readonly receipt: Uint8Array
      readonly createdAt: Instant
      readonly expiresAt: Instant
      readonly fresh: boolean
      readonly riskMetric: string | undefined
    }
  | { readonly verified: false; readonly step: string }

/**
 * Verifies the registration of a key of one format. The challenge was judged before: it is ours, fresh and unused.
 * An attestation that does not verify is `attestation_invalid` with the failing `step`; when too many wait for their
 * turn it is `overloaded`. Chains are long work: signatures are verified off the event loop.
 */
export interface KeyRegistrar<Format extends DeviceFormat> {
  register(request: Omit<RegistrationOf<Format>, 'format'>): Promise<Result<RegisteredKey>>
}

/** The registrars of the formats that this service takes keys of. */
export type KeyRegistrars = { readonly [Format in DeviceFormat]?: KeyRegistrar<Format> }

/**
 * Asks the phone's operator. Never fails and never takes longer than its budget: a provider that cannot be
 * reached is judged on the safe side, and `note` says why.
 */
export interface CarrierProvider {
  check(question: {
    readonly phoneNumber: string | null
    readonly signal: EvidenceSignals['carrier'] | undefined
  }): Promise<{ readonly finding: CarrierFinding; readonly note?: string }>
}
