import { type KeyObject, sign } from 'node:crypto'
import type { Signer } from '@bonded/core/ports/signer'

/** Signs with a key in this process. */
export function keySigner(publicKeys: Signer['publicKeys'], privateKey: KeyObject): Signer {
  return { publicKeys, sign: async (bytes) => sign(null, bytes, privateKey) }
}
