import { appleTrust } from '@bonded/attestation/apple'
import {
  appleWebAuthnRoots,
  attestationRoots,
  BROWSER_KEY_STORES,
} from '@bonded/attestation/webauthn'
import { androidAttestationVerifier } from '../android/attestation-verifier.ts'
import { appleAttestationVerifier } from '../apple/attestation-verifier.ts'
import { webauthnAttestationVerifier } from '../webauthn/attestation-verifier.ts'
import type { AttestedFormat, RegistrationTrust, RegistrationVerifier } from './task.ts'

/** Makes the verifiers of the formats whose keys have an attestation by the vendor. */
export function makeAttestationVerifiers({
  phones: { apple, android, webauthn },
  origin,
  rpId,
}: RegistrationTrust): { readonly [Format in AttestedFormat]: RegistrationVerifier<Format> } {
  // Google's own apps store browser keys, so the operator's list of apps does not apply.
  const browsers = { ...android, apps: BROWSER_KEY_STORES, userAuthenticationWithinSeconds: null }
  const packed = [
    ...attestationRoots(webauthn.packedRoots, 'production'),
    ...attestationRoots(webauthn.testRoots, 'sandbox'),
  ]
  return {
    'apple-app-attest': appleAttestationVerifier(appleTrust(apple.apps, apple.testRoots)),
    'android-key': androidAttestationVerifier(android),
    webauthn: webauthnAttestationVerifier({
      origin,
      rpId,
      trust: { packed, apple: appleWebAuthnRoots(), android: browsers },
    }),
  }
}
