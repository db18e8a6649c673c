import { decodeBase64url } from '@bonded/contract'
import { PhoneError } from '@bonded/phone'

/** Standard base64, as iOS writes it, in base64url without padding, as the service takes it. */
export function toBase64url(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/**
 * The bytes of a text from the platform, in base64 or base64url.
 *
 * @throws {PhoneError} `authenticator_unusable` for any other text
 */
export function bytesOf(text: string): Uint8Array {
  const bytes = decodeBase64url(toBase64url(text))
  if (bytes === undefined) throw new PhoneError('authenticator_unusable', { reason: 'encoding' })
  return bytes
}
