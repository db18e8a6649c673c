/** What all authenticator data begins with (WebAuthn, section 6.1), App Attest's too. */
export interface AuthenticatorHeader {
  /** SHA-256 of the app id, or of the RP ID. */
  readonly appIdHash: Buffer
  readonly flags: number
  readonly counter: number
  /** What follows. */
  readonly rest: Buffer
}

const FLAGS_AT = 32
const COUNTER_AT = 33
const HEADER_BYTES = 37

/** Undefined where the bytes are too few. */
export function readHeader(bytes: Uint8Array): AuthenticatorHeader | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    appIdHash: data.subarray(0, FLAGS_AT),
    flags: data.readUInt8(FLAGS_AT),
    counter: data.readUInt32BE(COUNTER_AT),
    rest: data.subarray(HEADER_BYTES),
  }
}
