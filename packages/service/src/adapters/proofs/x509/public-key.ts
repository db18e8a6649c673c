import { createPublicKey, type KeyObject, verify } from 'node:crypto'

/** A public key from SPKI, or undefined where Node does not know it. */
export function readPublicKey(spki: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch {
    return undefined
  }
}

/** `crypto.verify` on Node's thread pool: a chain must not hold up the event loop. P-384 takes ten times what an assertion does. */
export function verifyOffLoop(of: { message: Uint8Array; digest: string; signature: Uint8Array; key: KeyObject }): Promise<boolean> {
  return new Promise((resolve) => verify(of.digest, of.message, of.key, of.signature, (failure, valid) => resolve(failure === null && valid)))
}
