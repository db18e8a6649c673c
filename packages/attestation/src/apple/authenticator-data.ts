import { readHeader } from '../webauthn/authenticator-header.ts'
import { pointOf } from '../cbor/cose-key.ts'
import { decodeFirstCbor } from '../cbor/strict-cbor.ts'
import { type Extensions, readExtensions } from './extensions.ts'

const ATTESTED_CREDENTIAL_FLAG = 0x40
/** What follows the header: AAGUID (16), length of the credential id (2), credential id (32). */
const CREDENTIAL_ID_LENGTH_AT = 16
const CREDENTIAL_ID_AT = 18
const CREDENTIAL_ID_BYTES = 32
const COSE_KEY_AT = CREDENTIAL_ID_AT + CREDENTIAL_ID_BYTES

export interface AuthenticatorData {
  readonly appIdHash: Buffer
  readonly counter: number
  readonly extensions: Extensions
}

export interface AttestedData extends AuthenticatorData {
  readonly aaguid: Buffer
  readonly credentialId: Buffer
  /** 0x04, X, Y. */
  readonly point: Buffer
}

/**
 * Authenticator data of an assertion. iOS sets the flag of a credential that does not follow, so
 * the flags are not read.
 */
export function readAuthenticatorData(bytes: Buffer): AuthenticatorData | undefined {
  const header = readHeader(bytes)
  const extensions = header && readExtensions(header.rest)
  return extensions && { appIdHash: header.appIdHash, counter: header.counter, extensions }
}

/** Authenticator data of an attestation object, which holds the credential. */
export function readAttestedData(bytes: Buffer): AttestedData | undefined {
  const header = readHeader(bytes)
  if (header === undefined || (header.flags & ATTESTED_CREDENTIAL_FLAG) === 0) return undefined
  const { appIdHash, counter, rest } = header
  if (
    rest.length <= COSE_KEY_AT ||
    rest.readUInt16BE(CREDENTIAL_ID_LENGTH_AT) !== CREDENTIAL_ID_BYTES
  )
    return undefined
  const key = decodeFirstCbor(rest.subarray(COSE_KEY_AT))
  const point = key && pointOf(key.value)
  const extensions = key && readExtensions(Buffer.from(key.rest))
  if (point === undefined || extensions === undefined) return undefined
  const aaguid = rest.subarray(0, CREDENTIAL_ID_LENGTH_AT)
  return {
    appIdHash,
    counter,
    aaguid,
    credentialId: rest.subarray(CREDENTIAL_ID_AT, COSE_KEY_AT),
    point,
    extensions,
  }
}
