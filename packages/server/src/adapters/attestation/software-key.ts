import { hash } from 'node:crypto'
import { readPublicKey } from '@bonded/attestation/x509'
import { decodeBase64url } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import type { AttestationVerifier } from '@bonded/core/ports/devices'

/** The app id of software keys, which belong to no app. */
const APP_ID = 'software'

/**
 * Registers a key without hardware protection. Sandbox tenants alone accept it, so the only
 * requirement is a P-256 key.
 */
export const softwareAttestationVerifier: AttestationVerifier<'software'> = {
  async verify(request) {
    const der = decodeBase64url(request.public_key)
    const key = der && readPublicKey(der)
    if (key?.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
      return reject('public_key_invalid', { param: 'public_key' })
    // The key is encoded again, so that two encodings of one key are one key.
    const publicKey = key.export({ format: 'der', type: 'spki' })
    return accept({
      keyId: hash('sha256', publicKey, 'base64url'),
      publicKey,
      environment: 'sandbox',
      appId: APP_ID,
    })
  },
}
