import { hash } from 'node:crypto'
import { readHeader } from '@bonded/attestation/webauthn'
import { isSignatureOf } from '@bonded/attestation/x509'
import { decodeBase64url } from '@bonded/contract'
import { accept, refuse } from '../../domain/refusal.ts'
import type { AssertionVerifier } from '../../ports/devices.ts'
import { publicKeyOf } from './public-key-cache.ts'

/**
 * Assertions of the formats `software` and `android-key` (protocol 5): WebAuthn's form, signature over authenticator
 * data and client data hash. The app id is the one stored with the device.
 */
export const appAssertionVerifier: AssertionVerifier = {
  verify({ device, payload, appAttest }) {
    const fail = (step: string) => refuse('assertion_invalid', { step })
    // 1. The key is the registered one, and nothing of another format was sent.
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
    // 2. The hash is of the payload rebuilt here; the one sent is only compared.
    const clientDataHash = hash('sha256', payload, 'buffer')
    if (clientDataHash.toString('base64url') !== appAttest.client_data_hash)
      return fail('client_data_hash')
    // 3. The signature.
    const key = publicKeyOf(device)
    if (key === undefined) return fail('public_key')
    const message = Buffer.concat([authenticatorData, clientDataHash])
    if (!isSignatureOf({ message, digest: 'sha256', signature, key })) return fail('signature')
    // 4. The app.
    if (!appIdHashOf(device.appId).equals(header.appIdHash)) return fail('app_id')
    return accept({ counter: header.counter, userVerified: false })
  },
}

/** App ids come from the configuration: there are few, and each is hashed once. */
const appIdHashes = new Map<string, Buffer>()

function appIdHashOf(appId: string): Buffer {
  const known = appIdHashes.get(appId) ?? hash('sha256', appId, 'buffer')
  appIdHashes.set(appId, known)
  return known
}
