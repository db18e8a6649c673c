import { hash } from 'node:crypto'
import { verifyWebAuthnAssertion } from '@bonded/attestation/webauthn'
import { decodeBase64url } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import type { AssertionVerifier } from '@bonded/core/ports/devices'
import { publicKeyOf } from '../public-key-cache.ts'
import { rejectionOf } from '../rejection-of.ts'

/**
 * Verifies assertions of format `webauthn` (protocol 5).
 *
 * @param origin the service's own origin, which the client data must name
 */
export function webauthnVerifier({ origin }: { origin: string }): AssertionVerifier {
  return {
    verify({ device, payload, appAttest, origin: page = origin, topOrigin }) {
      const fail = (step: string) => reject('assertion_invalid', { step })
      // The key is the registered one, and every member of this format is present.
      if (appAttest.key_id !== device.keyId) return fail('key_id')
      const clientDataJson = decodeBase64url(appAttest.client_data_json ?? '')
      const authenticatorData = decodeBase64url(appAttest.authenticator_data)
      const signature = decodeBase64url(appAttest.signature)
      if (
        clientDataJson === undefined ||
        authenticatorData === undefined ||
        signature === undefined
      )
        return fail('encoding')
      // The service hashes the decoded client data and compares the hash that was sent.
      if (hash('sha256', clientDataJson, 'base64url') !== appAttest.client_data_hash)
        return fail('client_data_hash')
      const publicKey = publicKeyOf(device)
      if (publicKey === undefined) return fail('public_key')
      const verified = verifyWebAuthnAssertion({
        publicKey,
        backupEligible: device.webauthn?.backupEligible,
        clientDataJson,
        authenticatorData,
        signature,
        challenge: hash('sha256', payload, 'buffer'),
        origin: page,
        topOrigin,
        rpId: device.appId,
      })
      return verified.ok
        ? accept({ counter: verified.value.counter, userVerified: true })
        : rejectionOf(verified)
    },
  }
}
