import { decodeBase64url } from '@bonded/contract'

/** One root key. */
export interface RootKey {
  readonly id: string
  readonly bytes: Uint8Array
}

/** Why a `BONDED_ROOT_KEYS` value cannot be used, in words for whoever set it. Never quotes a key. */
export class RootKeyError extends Error {
  readonly code = 'root_keys_invalid'
  override readonly name = 'RootKeyError'
  /** The file they stand in, where it is not the setting. */
  readonly file: string | undefined

  constructor(message: string, file?: string) {
    super(message)
    this.file = file
  }
}

/**
 * Reads `k2:<base64url of 32 bytes>,k1:…`. The first makes, all verify.
 *
 * @throws {RootKeyError} where a key is malformed, weak or named twice
 */
export function parseRootKeys(text: string): readonly RootKey[] {
  const keys = text.split(',').map((part, at): RootKey => {
    const [id = '', encoded = '', ...rest] = part.trim().split(':')
    if (!/^[0-9A-Za-z_-]{1,32}$/.test(id) || rest.length > 0)
      throw new RootKeyError(`key ${at + 1} is not of the form id:base64url`)
    const bytes = decodeBase64url(encoded)
    if (bytes?.length !== 32) throw new RootKeyError(`key ${id} is not 32 bytes in base64url`)
    // 32 random bytes have fewer than 8 distinct values once in 10^40.
    if (new Set(bytes).size < 8) throw new RootKeyError(`key ${id} is not random`)
    return { id, bytes }
  })
  const twice = keys.find(({ id }, at) => keys.findIndex((key) => key.id === id) !== at)
  if (twice) throw new RootKeyError(`key ${twice.id} is named twice`)
  return keys
}
