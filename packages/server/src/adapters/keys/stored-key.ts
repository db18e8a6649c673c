import type { KeyObject } from 'node:crypto'
import { IdKeyError } from '@bonded/core/ports/keyring'
import { seal, unseal } from './seal.ts'

/**
 * A random key that outlives every root key, and is stored encrypted under each listed one. A
 * stored value is `id:encrypted`, once for each root key, with commas between them.
 *
 * @param wrappingKeys the key that encrypts it, for the id of each root key
 * @param sealedFor binds the encrypted key to its use
 */
export function storedKey(wrappingKeys: ReadonlyMap<string, KeyObject>, sealedFor: string) {
  const encrypt = (key: Buffer): string =>
    [...wrappingKeys]
      .map(([id, wrapping]) => `${id}:${seal(wrapping, key.toString('base64url'), sealedFor)}`)
      .join(',')
  const decrypt = ([id, sealed]: readonly [string, string]): Buffer => {
    try {
      return Buffer.from(unseal(wrappingKeys.get(id) as KeyObject, sealed, sealedFor), 'base64url')
    } catch {
      // The cause would add nothing: the encryption is authenticated, so the root key differs.
      throw new IdKeyError('wrong_key', [id])
    }
  }
  return {
    encrypt,
    /** @throws {IdKeyError} if no listed root key opens it */
    open(stored: string): { readonly key: Buffer; readonly stored: string } {
      const copies = stored.split(',').map((copy) => copy.split(':') as [string, string])
      const ids = copies.map(([id]) => id)
      // Each listed key is tried: a root key with other bytes would break sessions later.
      const [key] = copies.filter(([id]) => wrappingKeys.has(id)).map(decrypt)
      if (key === undefined) throw new IdKeyError('not_listed', ids)
      const complete = ids.length === wrappingKeys.size && ids.every((id) => wrappingKeys.has(id))
      return { key, stored: complete ? stored : encrypt(key) }
    },
  }
}
