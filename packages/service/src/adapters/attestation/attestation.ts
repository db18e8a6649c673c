import type { Clock } from '../../ports/clock.ts'
import type { AssertionVerifiers, KeyRegistrars } from '../../ports/attestation.ts'
import { type FetchText, googleRevocations } from './android/google-revocations.ts'
import { KNOWN_BAD_SERIALS } from './android/revocation-snapshot.ts'
import { appAssertionVerifier } from './app-assertion-verifier.ts'
import { appleVerifier } from './apple/assertion-verifier.ts'
import { registrationThread } from './registration/registration-thread.ts'
import { softwareRegistrar } from './software-key.ts'
import type { TrustedPhones } from './trusted-phones.ts'
import { webauthnVerifier } from './webauthn/assertion-verifier.ts'

/** How each format's keys are registered, and how their assertions are verified. */
export interface Proofs {
  readonly verifiers: AssertionVerifiers
  readonly registrars: KeyRegistrars
}

export interface ProofMeans {
  /** The service's own; its host is the RP ID. */
  readonly origin: string
  readonly clock: Clock
  readonly fetch: FetchText
  /** Told of each fetch of Google's revocation list that failed. */
  readonly onFetchFailure?: (failure: unknown) => void
}

/** The proofs of the trusted phones. A format without any app is not enabled; browsers' keys need none. */
export function proofsOf(phones: TrustedPhones, means: ProofMeans): Proofs {
  const { apple, android } = phones
  const { fetch, clock, origin, onFetchFailure: onFailure } = means
  const revocations = googleRevocations({
    fetch,
    clock,
    snapshot: KNOWN_BAD_SERIALS,
    ...(onFailure ? { onFailure } : {}),
  })
  const thread = registrationThread({ trust: { phones, origin }, revocations, clock })
  return {
    verifiers: {
      'apple-app-attest': appleVerifier(apple.apps),
      'android-key': appAssertionVerifier,
      webauthn: webauthnVerifier({ origin }),
      software: appAssertionVerifier,
    },
    registrars: {
      ...(apple.apps.length === 0
        ? {}
        : { 'apple-app-attest': thread.registrarOf('apple-app-attest') }),
      ...(android.apps.length === 0 ? {} : { 'android-key': thread.registrarOf('android-key') }),
      webauthn: thread.registrarOf('webauthn'),
      software: softwareRegistrar,
      [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
    },
  }
}
