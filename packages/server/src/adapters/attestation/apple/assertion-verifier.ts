import { hash } from 'node:crypto'
import { type AppleApp, verifyAppAssertion } from '@bonded/attestation/apple'
import { accept, reject } from '@bonded/core/domain/rejection'
import type { AssertionVerifier } from '@bonded/core/ports/devices'
import { publicKeyOf } from '../public-key-cache.ts'
import { rejectionOf } from '../rejection-of.ts'
import { readKeyId } from './key-id.ts'

/** Verifies assertions of App Attest keys (protocol 5). */
export function appleVerifier(apps: readonly AppleApp[]): AssertionVerifier {
  return {
    verify({ device, payload, appAttest }) {
      const fail = (step: string) => reject('assertion_invalid', { step })
      // The key is the registered one, and no member of another format was sent.
      if (
        appAttest.key_id !== device.keyId &&
        readKeyId(appAttest.key_id)?.toString('base64url') !== device.keyId
      )
        return fail('key_id')
      if (appAttest.client_data_json !== undefined) return fail('client_data_json')
      const authenticatorData = decode(appAttest.authenticator_data)
      const signature = decode(appAttest.signature)
      if (authenticatorData === undefined || signature === undefined) return fail('encoding')
      const app = apps.find(({ appId }) => appId === device.appId)
      if (app === undefined) return fail('app_not_configured')
      // The service hashes the payload that it rebuilt and compares the hash that was sent.
      const clientDataHash = hash('sha256', payload, 'buffer')
      if (clientDataHash.toString('base64url') !== appAttest.client_data_hash)
        return fail('client_data_hash')
      const publicKey = publicKeyOf(device)
      if (publicKey === undefined) return fail('public_key')
      const verified = verifyAppAssertion(
        { publicKey, clientDataHash, authenticatorData, signature },
        app,
      )
      return verified.ok
        ? accept({ counter: verified.value.counter, userVerified: false })
        : rejectionOf(verified)
    },
  }
}

/**
 * Node's decoder skips characters that are not base64url, so the result is encoded again and
 * compared. That is 10× as fast as a strict decoder in JavaScript.
 */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
