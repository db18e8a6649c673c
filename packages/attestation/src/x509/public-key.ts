import { createPublicKey, type KeyObject, verify } from 'node:crypto'

/** A public key from SPKI, or undefined where Node does not know it. */
export function readPublicKey(spki: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

/** Whether the key signed the message. What OpenSSL cannot make sense of is no signature. */
export function isSignatureOf(of: {
  message: Uint8Array
  digest: string
  signature: Uint8Array
  key: KeyObject
}): boolean {
  try {
    return verify(of.digest, of.message, of.key, of.signature)
  } catch {
    return false
  }
}
