import type { KeyRegistrar } from '../../ports/proofs.ts'
import type { AndroidTrust } from './android/attested-key.ts'
import { googleRevocations } from './android/google-revocations.ts'
import { androidKeyRegistrar } from './android/registrar.ts'
import { KNOWN_BAD_SERIALS } from './android/revocation-snapshot.ts'
import { appleRegistrar, appleTrust } from './apple/registrar.ts'
import type { ProofMeans } from './proofs.ts'
import type { TrustedPhones } from './trusted-phones.ts'
import { webauthnRegistrar } from './webauthn/registrar.ts'
import { appleWebauthnRoots, BROWSER_KEY_KEEPERS, rootsOf } from './webauthn/trust.ts'

/** The registrars of everything that chains to a root. */
export interface Registrars {
  readonly apple: KeyRegistrar<'apple-app-attest'>
  readonly android: KeyRegistrar<'android-key'>
  readonly webauthn: KeyRegistrar<'webauthn'>
}

/** Makes them: roots are read here, so whoever configures one that is no certificate is told before. */
export function makeRegistrars({ apple, android, webauthn }: TrustedPhones, { origin, clock, fetch, onFetchFailure }: ProofMeans): Registrars {
  const revocations = googleRevocations({ fetch, clock, snapshot: KNOWN_BAD_SERIALS, ...(onFetchFailure ? { onFailure: onFetchFailure } : {}) })
  const androidTrust: AndroidTrust = { policy: android, revocations, clock }
  // What keeps a browser's keys is one of Google's apps, whatever apps of the operator's own there are.
  const browsers: AndroidTrust = { ...androidTrust, policy: { ...android, apps: BROWSER_KEY_KEEPERS, userAuthenticationWithinSeconds: null } }
  const packed = [...rootsOf(webauthn.packedRoots, 'production'), ...rootsOf(webauthn.testRoots, 'sandbox')]
  return {
    apple: appleRegistrar({ trust: appleTrust(apple.apps, apple.testRoots), clock }),
    android: androidKeyRegistrar(androidTrust),
    webauthn: webauthnRegistrar({ origin, clock, trust: { packed, apple: appleWebauthnRoots(), android: browsers } }),
  }
}
