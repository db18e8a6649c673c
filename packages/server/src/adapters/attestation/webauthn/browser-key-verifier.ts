import { type StatementTrust, verifyWebAuthnRegistration } from '@bonded/attestation/webauthn'
import { decodeBase64url } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import type { Clock } from '@bonded/core/ports/clock'
import type { BrowserKeyVerifier } from '@bonded/core/ports/devices'
import { NO_APPS, type TrustedPhones } from '../phone-trust.ts'

/** For keys without an attestation: no certificate is trusted, and each one is rejected. */
export const NO_TRUST: StatementTrust = {
  packed: [],
  apple: [],
  android: { ...NO_APPS.android, roots: new Set() },
}

/** Verifies the registration of browser keys, for a relying party id: by default the host. */
export function browserKeyVerifier(options: {
  /** The service's own, of its phone page. */
  readonly origin: string
  readonly rpId?: string | undefined
  readonly android: Pick<TrustedPhones['android'], 'apps'>
  readonly clock: Clock
}): BrowserKeyVerifier {
  const { origin, rpId = new URL(origin).hostname, android, clock } = options
  // iOS names the domain of the app's entitlement, and Android the certificate of the app.
  const origins = new Set([origin, `https://${rpId}`, ...android.apps.flatMap(originsOfApp)])
  return {
    verify({ challenge, registration: { id, response } }) {
      const fail = (step: string) => reject('browser_key_invalid', { step })
      const credentialId = decodeBase64url(id)
      const challengeBytes = decodeBase64url(challenge)
      const clientDataJson = decodeBase64url(response.clientDataJSON)
      const attestationObject = decodeBase64url(response.attestationObject)
      if (!credentialId || !challengeBytes || !clientDataJson || !attestationObject)
        return fail('encoding')
      let step = 'client_data_origin'
      for (const each of origins) {
        const verified = verifyWebAuthnRegistration(
          {
            credentialId,
            clientDataJson,
            attestationObject,
            challenge: challengeBytes,
            origin: each,
            rpId,
            now: clock.now(),
          },
          NO_TRUST,
        )
        if (verified.ok) {
          const { publicKey, counter, backupEligible } = verified.value
          return accept({ keyId: id, publicKey, rpId, counter, backupEligible })
        }
        step = verified.step
        if (step !== 'client_data_origin') break
      }
      return fail(step)
    },
  }
}

/** @see https://developer.android.com/identity/sign-in/credential-manager#verify-origin */
function originsOfApp({
  certificateDigests,
}: TrustedPhones['android']['apps'][number]): readonly string[] {
  return certificateDigests.map(
    (hex) => `android:apk-key-hash:${Buffer.from(hex, 'hex').toString('base64url')}`,
  )
}
