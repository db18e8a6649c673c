import { X509Certificate } from 'node:crypto'
import { SettingsService } from '@simplewebauthn/server'
import type { AndroidApp } from '../android/policy.ts'
import { readCertificate } from '../x509/certificate.ts'
import type { AttestationRoot } from './path.ts'

/** Both packages share a user id, so every key of Google Play services names both. */
const PLAY_SERVICES_SIGNER = 'f0fd6c5b410f25cb25c3b53346c8972fae30f8ee7411df910480ad6b2d60db83'

/**
 * What keeps the keys of Android's browsers. Another app with a genuine hardware key could say anything about the page
 * and the person, so an `android-key` statement counts from these only.
 */
export const BROWSER_KEY_KEEPERS: readonly AndroidApp[] = [
  'com.google.android.gms',
  'com.google.android.gsf',
].map((name) => ({
  package: name,
  certificateDigests: [PLAY_SERVICES_SIGNER],
}))

/** @param pems from configuration, or the library's; one that cannot be read stops the start */
export function rootsOf(
  pems: readonly string[],
  environment: AttestationRoot['environment'],
): AttestationRoot[] {
  return pems.map((pem) => {
    const certificate = readCertificate(new X509Certificate(pem).raw)
    if (certificate === undefined)
      throw new RangeError('a configured root is not a certificate that can be read')
    return { certificate, environment }
  })
}

/** Apple's root for WebAuthn, as the library pins it. */
export function appleWebauthnRoots(): readonly AttestationRoot[] {
  return rootsOf(SettingsService.getRootCertificates({ identifier: 'apple' }), 'production')
}
