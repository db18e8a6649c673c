import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

/** A new private key. */
export function newKey(namedCurve: 'P-256' | 'P-384' = 'P-256'): KeyObject {
  return generateKeyPairSync('ec', { namedCurve }).privateKey
}

/** The public key of a pair. Node derives it from the private one; its types know PEM only. */
export function publicHalf(key: KeyObject): KeyObject {
  return key.type === 'public' ? key : createPublicKey(key.export({ format: 'pem', type: 'pkcs8' }))
}
