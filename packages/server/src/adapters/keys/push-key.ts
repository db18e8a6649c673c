import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { IdKeyError } from '@bonded/core/ports/keyring'
import type { PushKey, PushKeys } from '@bonded/core/ports/push'
import { SignJWT } from 'jose'
import { storedKey } from './stored-key.ts'

/** A public key of P-256 ends with its point: a byte and two coordinates. */
const POINT_BYTES = 65
/** Allows that much clock skew. A push service accepts up to 24 hours. */
const TOKEN_LIFETIME_S = 60 * 60

/** The stored key by which push services recognize the service (RFC 8292). */
export function pushKeys(wrappingKeys: ReadonlyMap<string, KeyObject>): PushKeys {
  const sealed = storedKey(wrappingKeys, 'push')
  return {
    create() {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return sealed.encrypt(privateKey.export({ format: 'der', type: 'pkcs8' }))
    },
    open(text) {
      try {
        const { key, stored } = sealed.open(text)
        return { key: pushKey(key), stored }
      } catch (failure) {
        if (failure instanceof IdKeyError) return undefined
        throw failure
      }
    },
  }
}

function pushKey(der: Buffer): PushKey {
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey)
    .export({ format: 'der', type: 'spki' })
    .subarray(-POINT_BYTES)
    .toString('base64url')
  return {
    publicKey,
    async authorization({ endpoint, contact, now }) {
      const token = await new SignJWT()
        .setProtectedHeader({ alg: 'ES256', typ: 'JWT' })
        .setAudience(new URL(endpoint).origin)
        .setExpirationTime(Math.floor(now / 1_000) + TOKEN_LIFETIME_S)
        .setSubject(contact)
        .sign(privateKey)
      return `vapid t=${token}, k=${publicKey}`
    },
  }
}
