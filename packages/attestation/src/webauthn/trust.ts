import { X509Certificate } from 'node:crypto'
import type { AndroidApp, AndroidPolicy } from '../android/policy.ts'
import type { Environment } from '../environment.ts'
import { readCertificate } from '../x509/certificate.ts'
import type { AttestationRoot } from './certificate-path.ts'
import { APPLE_WEBAUTHN_ROOT } from './roots.ts'

/** Both packages share a user id, so every key of Google Play services names both. */
const PLAY_SERVICES_SIGNER = 'f0fd6c5b410f25cb25c3b53346c8972fae30f8ee7411df910480ad6b2d60db83'

/** The roots and apps that attestation statements are verified against, by format. */
export interface StatementTrust {
  readonly packed: readonly AttestationRoot[]
  readonly apple: readonly AttestationRoot[]
  /** Its `apps` are those that store browser keys: see `BROWSER_KEY_STORES`. */
  readonly android: AndroidPolicy
}

/**
 * The apps that store the keys of Android browsers. An `android-key` statement counts from these
 * only: another app with a genuine hardware key could state anything about the page and the user.
 */
export const BROWSER_KEY_STORES: readonly AndroidApp[] = [
  'com.google.android.gms',
  'com.google.android.gsf',
].map((name) => ({
  package: name,
  certificateDigests: [PLAY_SERVICES_SIGNER],
}))

/**
 * Attestation roots from PEM.
 *
 * @throws {RangeError} where one cannot be read: a misconfigured root must not be passed over
 *
 * @example
 * import { webAuthnSample as sample } from '@bonded/attestation/samples'
 * import { attestationRoots } from '@bonded/attestation/webauthn'
 *
 * console.log(attestationRoots([sample.testRoot], 'sandbox').length) // 1
 */
export function attestationRoots(
  pems: readonly string[],
  environment: Environment,
): AttestationRoot[] {
  return pems.map((pem) => {
    const certificate = readCertificate(new X509Certificate(pem).raw)
    if (certificate === undefined)
      throw new RangeError('a configured root is not a certificate that can be read')
    return { certificate, environment }
  })
}

/**
 * Apple's root for WebAuthn.
 *
 * @example
 * import { appleWebAuthnRoots } from '@bonded/attestation/webauthn'
 *
 * console.log(appleWebAuthnRoots()[0].environment) // production
 */
export function appleWebAuthnRoots(): readonly AttestationRoot[] {
  return attestationRoots([APPLE_WEBAUTHN_ROOT], 'production')
}
