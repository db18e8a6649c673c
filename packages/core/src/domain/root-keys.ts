import { decodeBase64url } from '@bonded/contract'

/** A root key, from which the keyring derives every other key. */
export interface RootKey {
  readonly id: string
  readonly bytes: Uint8Array
}

/** A `BONDED_ROOT_KEYS` value cannot be used. The message is for the operator and quotes no key. */
export class RootKeyError extends Error {
  readonly code = 'root_keys_invalid'
  override readonly name = 'RootKeyError'
  /** The file with the keys; undefined if they come from the setting. */
  readonly file: string | undefined

  constructor(message: string, file?: string) {
    super(message)
    this.file = file
  }
}

/**
 * Parses `k2:<base64url of 32 bytes>,k1:…`. The first key is active; all listed keys verify.
 *
 * @throws {RootKeyError} if a key is malformed, weak or listed twice
 */
export function parseRootKeys(text: string): readonly RootKey[] {
  const keys = text.split(',').map((part, index): RootKey => {
    const [id = '', encoded = '', ...rest] = part.trim().split(':')
    if (!/^[0-9A-Za-z_-]{1,32}$/.test(id) || rest.length > 0)
      throw new RootKeyError(`key ${index + 1} is not of the form id:base64url`)
    const bytes = decodeBase64url(encoded)
    if (bytes?.length !== 32) throw new RootKeyError(`key ${id} is not 32 bytes in base64url`)
    // 32 random bytes have fewer than 8 distinct values with probability 10^-40.
    if (new Set(bytes).size < 8) throw new RootKeyError(`key ${id} is not random`)
    return { id, bytes }
  })
  const duplicate = keys.find(({ id }, index) => keys.findIndex((key) => key.id === id) !== index)
  if (duplicate) throw new RootKeyError(`key ${duplicate.id} is named twice`)
  return keys
}
