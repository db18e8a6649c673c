import type {
  AppAttest,
  DeviceFormat,
  EvidenceSignals,
  PassportSignal,
  PassportTier,
  RegistrationOf,
} from '@bonded/contract'
import type { CarrierFinding } from '../domain/evidence.ts'
import type { Result } from '../domain/refusal.ts'
import type { Secret } from '../domain/secret.ts'
import type { Device, Instant } from '../domain/session.ts'
import type { Tenant } from '../domain/tenant.ts'

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
  verify(assertion: {
    device: Device
    payload: string
    appAttest: AppAttest
  }): Result<VerifiedAssertion>
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
 * turn it is `overloaded`. Chains are long work, done off this thread and within a bounded time.
 */
export interface KeyRegistrar<Format extends DeviceFormat> {
  register(request: Omit<RegistrationOf<Format>, 'format'>): Promise<Result<RegisteredKey>>
}

/** The registrars of the formats that this service takes keys of. */
export type KeyRegistrars = {
  readonly [Format in DeviceFormat]?: KeyRegistrar<Format>
} & AsyncDisposable

export interface CarrierQuestion {
  /** As the tenant gave it with the session, never as the phone says it. Without one nobody is asked. */
  readonly phoneNumber: Secret | null
  readonly signal: EvidenceSignals['carrier'] | undefined
}

export interface CarrierVerdict {
  readonly finding: CarrierFinding
  /** What was not learned and why, for the timeline. Stable words; it names no number. */
  readonly note?: string
}

/**
 * Asks the phone's operator. Never fails and never takes longer than its budget: a provider that cannot be
 * reached is judged on the safe side, and `note` says why.
 */
export interface CarrierProvider {
  check(question: CarrierQuestion): Promise<CarrierVerdict>
}

/** What came of a passport. Of its holder nothing is in it. */
export interface PassportFinding {
  readonly tier: PassportTier
  /** The check that kept the tier from being higher, for the timeline. */
  readonly note?: string
  /** As the document names it; from tier `document` on. */
  readonly issuingState?: string
  /** A keyed hash of state and number: the same document has the same, and nobody without the key can tell which it is. */
  readonly documentRef?: string
}

/**
 * Judges passports off this thread, within a bounded time each. Never rejects: a document that breaks its judge, or
 * takes it too long, is none. Refuses with `overloaded` where too many wait; whoever does not send passports notices
 * nothing of it.
 */
export interface PassportVerifier extends AsyncDisposable {
  verify(question: {
    readonly passport: PassportSignal
    /** Of the request: what the chip signs is made from it. */
    readonly nonce: string
    /** What a made-up state vouches for never serves a production tenant. */
    readonly environment: Tenant['environment']
  }): Promise<Result<PassportFinding>>
}
