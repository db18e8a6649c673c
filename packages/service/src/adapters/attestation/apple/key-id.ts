import { decodeBase64url } from '@bonded/contract'

/** A key id is SHA-256 of the key: 32 bytes, one digit left over at the end. */
const STANDARD_BASE64 = /^[A-Za-z0-9+/]{43}=$/
const BASE64URL_LENGTH = 43

/** The 32 bytes of a key id: as iOS spells it, in standard base64, or as this service does, in base64url. */
export function readKeyId(text: string): Buffer | undefined {
  const spelled = STANDARD_BASE64.test(text)
    ? text.slice(0, -1).replaceAll('+', '-').replaceAll('/', '_')
    : text
  const bytes = spelled.length === BASE64URL_LENGTH ? decodeBase64url(spelled) : undefined
  return bytes && Buffer.from(bytes)
}
