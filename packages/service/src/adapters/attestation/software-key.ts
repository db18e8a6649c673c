import { hash } from 'node:crypto'
import { readPublicKey } from '@bonded/attestation/x509'
import { decodeBase64url } from '@bonded/contract'
import { accept, refuse } from '../../domain/refusal.ts'
import type { AttestationVerifier } from '../../ports/devices.ts'

/** What a software key's assertions name instead of an app. */
const APP_ID = 'software'

/**
 * Registers a key that no hardware holds. It serves sandbox tenants only, so there is nothing to prove but that
 * it is a P-256 key.
 */
export const softwareAttestationVerifier: AttestationVerifier<'software'> = {
  async verify(request) {
    const der = decodeBase64url(request.public_key)
    const key = der && readPublicKey(der)
    if (key?.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
      return refuse('public_key_invalid', { param: 'public_key' })
    // Written anew: two spellings of one key must not be two keys.
    const publicKey = key.export({ format: 'der', type: 'spki' })
    return accept({
      keyId: hash('sha256', publicKey, 'base64url'),
      publicKey,
      environment: 'sandbox',
      appId: APP_ID,
    })
  },
}
