import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { Sha256, SoftwareSigner } from '@bonded/phone'
import { newKey, publicHalf } from './test-pki/key.ts'

/** SHA-256 by node:crypto. */
export const sha256: Sha256 = (bytes) => createHash('sha256').update(bytes).digest()

/** Creates a P-256 private key: PKCS #8 in base64url, as the state file stores it. */
export function createKey(): string {
  return newKey().export({ format: 'der', type: 'pkcs8' }).toString('base64url')
}

/** Reads a stored key. */
export function readKey(encoded: string): KeyObject {
  return createPrivateKey({ key: Buffer.from(encoded, 'base64url'), format: 'der', type: 'pkcs8' })
}

/** Signs with the key that is current at the moment of signing. */
export function softwareSigner(load: () => Promise<KeyObject>): SoftwareSigner {
  return {
    publicKey: async () => publicHalf(await load()).export({ format: 'der', type: 'spki' }),
    sign: async (message) => sign('sha256', message, await load()),
  }
}
