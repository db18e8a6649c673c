import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'
import type { IdKeys } from '@bonded/core/ports/keyring'
import { storedKey } from './stored-key.ts'

const CIPHER = 'aes-128-ecb'
const KEY_BYTES = 16

/** The stored key of session ids. */
export function sessionIdKeys(wrappingKeys: ReadonlyMap<string, KeyObject>): IdKeys {
  const sealed = storedKey(wrappingKeys, 'session-ids')
  return {
    create: () => sealed.encrypt(randomBytes(KEY_BYTES)),
    open(text) {
      const { key, stored } = sealed.open(text)
      return { cipher: blockCipher(key), stored }
    },
  }
}

/** ECB of single blocks is the permutation itself. Without state, one object serves all calls. */
function blockCipher(key: Buffer): ReturnType<IdKeys['open']>['cipher'] {
  const cipher = createCipheriv(CIPHER, key, null).setAutoPadding(false)
  const decipher = createDecipheriv(CIPHER, key, null).setAutoPadding(false)
  return {
    encrypt: (block) => cipher.update(block),
    decrypt: (block) => decipher.update(block),
  }
}
