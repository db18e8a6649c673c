/** The header of authenticator data (WebAuthn, section 6.1), which App Attest has too. */
export interface AuthenticatorHeader {
  /** SHA-256 of the app id, or of the RP ID. */
  readonly appIdHash: Buffer
  readonly flags: number
  readonly counter: number
  /** The bytes after the header. */
  readonly rest: Buffer
}

const FLAGS_OFFSET = 32
const COUNTER_OFFSET = 33
const HEADER_BYTES = 37

/**
 * Undefined for bytes that are too short.
 *
 * @example
 * import { webAuthnSample as sample } from '@bonded/attestation/samples'
 * import { readHeader } from '@bonded/attestation/webauthn'
 *
 * console.log(readHeader(sample.authenticatorData).counter) // 1
 */
export function readHeader(bytes: Uint8Array): AuthenticatorHeader | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    appIdHash: data.subarray(0, FLAGS_OFFSET),
    flags: data.readUInt8(FLAGS_OFFSET),
    counter: data.readUInt32BE(COUNTER_OFFSET),
    rest: data.subarray(HEADER_BYTES),
  }
}
