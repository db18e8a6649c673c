import type { Clock } from '../../ports/clock.ts'
import type { AssertionVerifiers, KeyRegistrar, KeyRegistrars } from '../../ports/proofs.ts'
import type { FetchText } from './android/google-revocations.ts'
import { appAssertionVerifier } from './app-assertion.ts'
import { appleVerifier } from './apple/verifier.ts'
import { softwareRegistrar } from './software.ts'
import type { TrustedPhones } from './trusted-phones.ts'
import { webauthnVerifier } from './webauthn/assertion.ts'

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
  // A registrar and its certificates are loaded when the first key comes: most of a start would be spent on them.
  const load = () => import('./registrars.ts').then(({ makeRegistrars }) => makeRegistrars(phones, means))
  let loading: ReturnType<typeof load> | undefined
  const loaded = () => (loading ??= load())
  return {
    verifiers: {
      'apple-app-attest': appleVerifier(apple.apps),
      'android-key': appAssertionVerifier,
      webauthn: webauthnVerifier({ origin: means.origin }),
      software: appAssertionVerifier,
    },
    registrars: {
      ...(apple.apps.length === 0 ? {} : { 'apple-app-attest': later<'apple-app-attest'>(async () => (await loaded()).apple) }),
      ...(android.apps.length === 0 ? {} : { 'android-key': later<'android-key'>(async () => (await loaded()).android) }),
      webauthn: later<'webauthn'>(async () => (await loaded()).webauthn),
      software: softwareRegistrar,
    },
  }
}

function later<Format extends keyof KeyRegistrars>(load: () => Promise<KeyRegistrar<Format>>): KeyRegistrar<Format> {
  return { register: async (request) => (await load()).register(request) }
}
