import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'

/** Creates a private key. */
export function newKey(namedCurve: 'P-256' | 'P-384' = 'P-256'): KeyObject {
  return generateKeyPairSync('ec', { namedCurve }).privateKey
}

/** Returns the public key of a key pair. The types of Node accept a private key as PEM only. */
export function publicHalf(key: KeyObject): KeyObject {
  return key.type === 'public' ? key : createPublicKey(key.export({ format: 'pem', type: 'pkcs8' }))
}
