import { hash } from 'node:crypto'
import { readHeader } from '@bonded/attestation/webauthn'
import { isSignatureOf } from '@bonded/attestation/x509'
import { decodeBase64url } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import type { AssertionVerifier } from '@bonded/core/ports/devices'
import { publicKeyOf } from './public-key-cache.ts'

/**
 * Verifies assertions of the formats `software` and `android-key` (protocol 5). They have the form
 * of WebAuthn: a signature over the authenticator data and the client data hash. The app id must be
 * the one stored with the device.
 */
export const appAssertionVerifier: AssertionVerifier = {
  verify({ device, payload, appAttest }) {
    const fail = (step: string) => reject('assertion_invalid', { step })
    // 1. The key is the registered one, and the request has no member of another format.
    if (appAttest.key_id !== device.keyId) return fail('key_id')
    if (appAttest.client_data_json !== undefined) return fail('client_data_json')
    const authenticatorData = decodeBase64url(appAttest.authenticator_data)
    const signature = decodeBase64url(appAttest.signature)
    const header = authenticatorData && readHeader(authenticatorData)
    if (
      authenticatorData === undefined ||
      header === undefined ||
      header.rest.length > 0 ||
      signature === undefined
    )
      return fail('encoding')
    // 2. The service hashes the payload that it rebuilt and compares the hash that was sent.
    const clientDataHash = hash('sha256', payload, 'buffer')
    if (clientDataHash.toString('base64url') !== appAttest.client_data_hash)
      return fail('client_data_hash')
    // 3. The signature verifies under the registered key.
    const key = publicKeyOf(device)
    if (key === undefined) return fail('public_key')
    const message = Buffer.concat([authenticatorData, clientDataHash])
    if (!isSignatureOf({ message, digest: 'sha256', signature, key })) return fail('signature')
    // 4. The authenticator data names the registered app.
    if (!appIdHashOf(device.appId).equals(header.appIdHash)) return fail('app_id')
    return accept({ counter: header.counter, userVerified: false })
  },
}

/** SHA-256 of each app id. App ids come from the configuration, so there are few. */
const appIdHashes = new Map<string, Buffer>()

function appIdHashOf(appId: string): Buffer {
  const known = appIdHashes.get(appId) ?? hash('sha256', appId, 'buffer')
  appIdHashes.set(appId, known)
  return known
}
