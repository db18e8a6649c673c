import type {
  AppAttest,
  BrowserKeyRegistration,
  DeviceFormat,
  RegistrationOf,
} from '@bonded/contract'
import type { Result } from '../domain/rejection.ts'
import type { BrowserKey, Device, Instant } from '../domain/session.ts'

/** The result of a verified assertion. */
export interface VerifiedAssertion {
  readonly counter: number
  /** Whether the assertion itself shows user verification. Only some formats can. */
  readonly userVerified: boolean
}

/**
 * Verifies assertions of one format. Synchronous: a signature takes 67 µs on this thread, which
 * is less than the hand-over to another one.
 *
 * Every rejection is `assertion_invalid` with the failing `step`. The store checks the counter, not
 * the verifier.
 */
export interface AssertionVerifier {
  verify(assertion: {
    device: Device
    payload: string
    appAttest: AppAttest
    /** The page that the client data must name; by default the service's own. */
    origin?: string
    /** The page that frames the service's frame; absent: the assertion comes from no frame. */
    topOrigin?: string | undefined
  }): Result<VerifiedAssertion>
}

/** The assertion verifier of each device format. */
export type AssertionVerifiers = Readonly<Record<DeviceFormat, AssertionVerifier>>

/** What a verified registration proves about a key. */
export interface RegisteredKey {
  readonly keyId: string
  /** SPKI, DER. */
  readonly publicKey: Uint8Array
  readonly environment: Device['environment']
  readonly appId: string
  /** The counter in the registration. The first assertion must exceed it. */
  readonly counter?: number
  readonly webauthn?: Device['webauthn']
  readonly build?: Device['build']
  readonly receipt?: KeyReceipt
}

/**
 * The vendor's receipt for an attested key. It is a signal for fraud investigations, not a proof.
 * When the receipt does not verify, `step` names the failing check.
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
 * Verifies registrations of one format. The caller has checked the challenge: this service issued
 * it, and it is fresh and unused.
 *
 * An attestation that does not verify is rejected as `attestation_invalid` with the failing
 * `step`. When too many registrations wait, the rejection is `overloaded`. Certificate chains are
 * verified off this thread and within a time limit.
 */
export interface AttestationVerifier<Format extends DeviceFormat> {
  verify(request: Omit<RegistrationOf<Format>, 'format'>): Promise<Result<RegisteredKey>>
}

/**
 * Verifies the registration of a browser key. Synchronous, because such a key has no attestation by
 * a vendor. Every rejection is `browser_key_invalid` with the failing `step`.
 */
export interface BrowserKeyVerifier {
  verify(request: BrowserKeyRegistration): Result<Omit<BrowserKey, 'createdAt'>>
}

/** The attestation verifiers of the formats that this service accepts keys of. */
export type AttestationVerifiers = {
  readonly [Format in DeviceFormat]?: AttestationVerifier<Format>
} & { readonly browserKey: BrowserKeyVerifier } & AsyncDisposable
