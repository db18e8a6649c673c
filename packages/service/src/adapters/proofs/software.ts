import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import { decodeBase64url } from '@bonded/contract'
import { accept, refuse } from '../../domain/refusal.ts'
import type { AssertionVerifier, KeyRegistrar } from '../../ports/proofs.ts'
import { publicKeyOf } from './public-keys.ts'

/** What a software key's assertions name instead of an app. */
const APP_ID = 'software'
const APP_ID_HASH = hash('sha256', APP_ID, 'buffer')
/** SHA-256 of the app id, one byte of flags, a 32-bit counter. */
const AUTHENTICATOR_DATA_BYTES = 37
const COUNTER_AT = 33

/**
 * Registers a key that no hardware holds. It serves sandbox tenants only, so there is nothing to prove but that
 * it is a P-256 key.
 */
export const softwareRegistrar: KeyRegistrar = {
  async register(request) {
    const der = decodeBase64url(request.public_key)
    const key = der && readKey(der)
    if (key?.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return refuse('public_key_invalid', { param: 'public_key' })
    // Written anew: two spellings of one key must not be two keys.
    const publicKey = key.export({ format: 'der', type: 'spki' })
    return accept({ keyId: hash('sha256', publicKey, 'base64url'), publicKey, environment: 'sandbox', appId: APP_ID })
  },
}

/** Assertions of a software key (protocol 5): WebAuthn's form, signature over authenticator data and client data hash. */
export const softwareVerifier: AssertionVerifier = {
  verify({ device, payload, appAttest }) {
    const no = (step: string) => refuse('assertion_invalid', { step })
    // 1. The key is the registered one, and nothing of another format was sent.
    if (appAttest.key_id !== device.keyId) return no('key_id')
    if (appAttest.client_data_json !== undefined) return no('client_data_json')
    const authenticatorData = decodeBase64url(appAttest.authenticator_data)
    const signature = decodeBase64url(appAttest.signature)
    if (authenticatorData?.length !== AUTHENTICATOR_DATA_BYTES || signature === undefined) return no('encoding')
    // 2. The hash is of the payload rebuilt here; the one sent is only compared.
    const clientDataHash = hash('sha256', payload, 'buffer')
    if (clientDataHash.toString('base64url') !== appAttest.client_data_hash) return no('client_data_hash')
    // 3. The signature.
    const signed = Buffer.concat([authenticatorData, clientDataHash])
    if (!verify('sha256', signed, publicKeyOf(device), signature)) return no('signature')
    // 4. The app.
    if (!APP_ID_HASH.equals(authenticatorData.subarray(0, 32))) return no('app_id')
    return accept({ counter: Buffer.from(authenticatorData).readUInt32BE(COUNTER_AT), userVerified: false })
  },
}

function readKey(der: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}
