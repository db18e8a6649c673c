import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { requireBytes } from '../arguments.ts'

/**
 * Reads an SPKI public key. Undefined if the runtime does not support it.
 *
 * @throws {TypeError} for anything but bytes
 */
export function readPublicKey(spki: Uint8Array): KeyObject | undefined {
  requireBytes({ spki })
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

/** Whether the key signed the message. False for a signature that OpenSSL cannot parse. */
export function isSignatureOf(input: {
  message: Uint8Array
  digest: string
  signature: Uint8Array
  key: KeyObject
}): boolean {
  try {
    return verify(input.digest, input.message, input.key, input.signature)
  } catch {
    return false
  }
}
