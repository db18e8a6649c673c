import { decodeBase64url } from '@bonded/contract'

/** Standard base64 of 32 bytes: a key id is the SHA-256 of the key. */
const STANDARD_BASE64 = /^[A-Za-z0-9+/]{43}=$/
const BASE64URL_LENGTH = 43

/**
 * Decodes a key id, which iOS encodes in standard base64 and this service in base64url.
 *
 * @returns its 32 bytes; undefined where the text is neither
 */
export function readKeyId(text: string): Buffer | undefined {
  const spelled = STANDARD_BASE64.test(text)
    ? text.slice(0, -1).replaceAll('+', '-').replaceAll('/', '_')
    : text
  const bytes = spelled.length === BASE64URL_LENGTH ? decodeBase64url(spelled) : undefined
  return bytes && Buffer.from(bytes)
}
