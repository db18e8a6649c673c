import type { Clock } from '@bonded/core/ports/clock'
import type { AssertionVerifiers, AttestationVerifiers } from '@bonded/core/ports/devices'
import { type FetchText, googleRevocations } from './android/google-revocations.ts'
import { KNOWN_BAD_SERIALS } from './android/revocation-snapshot.ts'
import { appAssertionVerifier } from './app-assertion-verifier.ts'
import { appleVerifier } from './apple/assertion-verifier.ts'
import { registrationPool, registrationThread } from './registration/registration-thread.ts'
import { softwareAttestationVerifier } from './software-key.ts'
import type { TrustedPhones } from './phone-trust.ts'
import { browserKeyVerifier } from './webauthn/browser-key-verifier.ts'
import { webauthnVerifier } from './webauthn/assertion-verifier.ts'

/** How each format's keys are registered, and how their assertions are verified. */
export interface Attestation {
  readonly assertionVerifiers: AssertionVerifiers
  readonly attestationVerifiers: AttestationVerifiers
}

export interface AttestationOptions {
  /** The service's own. */
  readonly origin: string
  /** The relying party id of new browser keys; the host of the origin by default. */
  readonly rpId?: string
  readonly clock: Clock
  readonly fetch: FetchText
  /** Starts the thread that verifies registrations. */
  readonly startPool?: typeof registrationPool
  /** Called for each failed fetch of Google's revocation list. */
  readonly onFetchFailure?: (failure: unknown) => void
}

/**
 * The attestation of the trusted phones. A format without any app is not enabled; browsers' keys
 * need none.
 */
export function createAttestation(phones: TrustedPhones, means: AttestationOptions): Attestation {
  const { apple, android } = phones
  const { fetch, clock, origin, rpId, onFetchFailure: onFailure } = means
  const { startPool = registrationPool } = means
  const revocations = googleRevocations({
    fetch,
    clock,
    snapshot: KNOWN_BAD_SERIALS,
    ...(onFailure ? { onFailure } : {}),
  })
  const pool = startPool({ phones, origin, rpId }, clock)
  const thread = registrationThread({ pool, revocations, clock })
  return {
    assertionVerifiers: {
      'apple-app-attest': appleVerifier(apple.apps),
      'android-key': appAssertionVerifier,
      webauthn: webauthnVerifier({ origin }),
      software: appAssertionVerifier,
    },
    attestationVerifiers: {
      ...(apple.apps.length === 0
        ? {}
        : { 'apple-app-attest': thread.verifierOf('apple-app-attest') }),
      ...(android.apps.length === 0 ? {} : { 'android-key': thread.verifierOf('android-key') }),
      webauthn: thread.verifierOf('webauthn'),
      software: softwareAttestationVerifier,
      browserKey: browserKeyVerifier({ origin, rpId, android, clock }),
      [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
    },
  }
}
