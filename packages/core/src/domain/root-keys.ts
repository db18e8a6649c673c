import { decodeBase64url } from '@bonded/contract'

/** A root key, from which the keyring derives every other key. */
export interface RootKey {
  readonly id: string
  readonly bytes: Uint8Array
}

/** Root keys cannot be used. The message is for the operator and quotes no key. */
export class RootKeyError extends Error {
  readonly code = 'root_keys_invalid'
  override readonly name = 'RootKeyError'
  /** The file or the program they come from; undefined for those of the setting. */
  readonly source: { readonly file?: string; readonly command?: string } | undefined

  constructor(message: string, source?: RootKeyError['source']) {
    super(message)
    this.source = source
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
    // By its number: where the parts are reversed, the id is the key.
    if (bytes?.length !== 32)
      throw new RootKeyError(`key ${index + 1} is not 32 bytes in base64url`)
    // 32 random bytes have fewer than 8 distinct values with probability 10^-40.
    if (new Set(bytes).size < 8) throw new RootKeyError(`key ${index + 1} is not random`)
    return { id, bytes }
  })
  const duplicate = keys.find(({ id }, index) => keys.findIndex((key) => key.id === id) !== index)
  if (duplicate) throw new RootKeyError(`key ${duplicate.id} is named twice`)
  return keys
}
