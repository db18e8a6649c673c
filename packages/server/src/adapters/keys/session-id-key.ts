import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'
import { IdKeyError, type IdKeys } from '@bonded/core/ports/keyring'
import { seal, unseal } from './seal.ts'

const CIPHER = 'aes-128-ecb'
const KEY_BYTES = 16
/** Binds the encrypted key to its use. */
const SEALED_FOR = 'session-ids'

/**
 * The key of session ids: random, so that it outlives every root key, and stored encrypted under
 * each listed root key. A stored value is `id:encrypted`, once for each root key, with commas
 * between them.
 *
 * @param wrappingKeys the key that encrypts it, for the id of each root key
 */
export function sessionIdKeys(wrappingKeys: ReadonlyMap<string, KeyObject>): IdKeys {
  const encrypt = (key: Buffer): string =>
    [...wrappingKeys]
      .map(([id, wrapping]) => `${id}:${seal(wrapping, key.toString('base64url'), SEALED_FOR)}`)
      .join(',')
  return {
    create: () => encrypt(randomBytes(KEY_BYTES)),
    open(stored) {
      const copies = stored.split(',').map((copy) => copy.split(':') as [string, string])
      const ids = copies.map(([id]) => id)
      // Each listed key is tried: a root key with other bytes would break sessions later.
      const [key] = copies
        .filter(([id]) => wrappingKeys.has(id))
        .map((copy) => decrypt(wrappingKeys, copy))
      if (key === undefined) throw new IdKeyError('not_listed', ids)
      const complete = ids.length === wrappingKeys.size && ids.every((id) => wrappingKeys.has(id))
      return { cipher: blockCipher(key), stored: complete ? stored : encrypt(key) }
    },
  }
}

function decrypt(
  wrappingKeys: ReadonlyMap<string, KeyObject>,
  [id, sealed]: readonly [string, string],
): Buffer {
  try {
    return Buffer.from(unseal(wrappingKeys.get(id) as KeyObject, sealed, SEALED_FOR), 'base64url')
  } catch {
    // The cause would add nothing: the encryption is authenticated, so the root key differs.
    throw new IdKeyError('wrong_key', [id])
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
