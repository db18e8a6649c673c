import { appleTrust } from '@bonded/attestation/apple'
import {
  appleWebAuthnRoots,
  attestationRoots,
  BROWSER_KEY_STORES,
} from '@bonded/attestation/webauthn'
import { androidAttestationVerifier } from '../android/attestation-verifier.ts'
import { appleAttestationVerifier } from '../apple/attestation-verifier.ts'
import { webauthnAttestationVerifier } from '../webauthn/attestation-verifier.ts'
import type { AttestedFormat, RegistrationTrust, RegistrationVerifier } from './question.ts'

/** The verifiers of the formats whose keys chain to a root. */
export function makeAttestationVerifiers({
  phones: { apple, android, webauthn },
  origin,
}: RegistrationTrust): { readonly [Format in AttestedFormat]: RegistrationVerifier<Format> } {
  // Google's apps store browser keys, whatever apps the operator has configured.
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
      trust: { packed, apple: appleWebAuthnRoots(), android: browsers },
    }),
  }
}
