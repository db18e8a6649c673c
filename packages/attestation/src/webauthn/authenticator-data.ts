import { splitMap } from '../cbor/split-map.ts'
import { decodeFirstCbor } from '../cbor/strict-cbor.ts'
import { bufferOf } from '../bytes.ts'
import { type AuthenticatorHeader, readHeader } from './authenticator-header.ts'

/** The bits of the flags byte. */
export const FLAG = {
  userPresent: 0x01,
  userVerified: 0x04,
  backupEligible: 0x08,
  backedUp: 0x10,
  credential: 0x40,
  extensions: 0x80,
} as const

/** What the flags state, and the counter. */
export interface AuthenticatorState {
  readonly userPresent: boolean
  readonly userVerified: boolean
  readonly backupEligible: boolean
  readonly backedUp: boolean
  readonly counter: number
}

export interface AuthenticatorData extends AuthenticatorState {
  /** SHA-256 of the RP ID. */
  readonly rpIdHash: Buffer
}

/** The credential in the authenticator data of a registration. */
export interface AttestedCredential {
  readonly aaguid: Buffer
  readonly credentialId: Buffer
  /** The COSE key, decoded. */
  readonly key: unknown
}

/** Extension outputs in use have about 100 bytes. The caller bounds the whole object. */
const MAX_EXTENSIONS_BYTES = 16_384
const AAGUID_BYTES = 16
const CREDENTIAL_ID_OFFSET = 18
/** WebAuthn, section 5.1: credential ids have at most 1023 bytes. */
const MAX_CREDENTIAL_ID_BYTES = 1_023

/** Reads the authenticator data of an assertion. Undefined unless flags and length agree. */
export function readAuthenticatorData(bytes: Uint8Array): AuthenticatorData | undefined {
  const header = readHeader(bytes)
  // Only a registration carries a credential.
  if (header === undefined || has(header, 'credential') || !isExtensions(header, header.rest))
    return undefined
  return { rpIdHash: header.appIdHash, ...stateOf(header) }
}

/** The flags and the counter of a header. */
export function stateOf(header: AuthenticatorHeader): AuthenticatorState {
  return {
    userPresent: has(header, 'userPresent'),
    userVerified: has(header, 'userVerified'),
    backupEligible: has(header, 'backupEligible'),
    backedUp: has(header, 'backedUp'),
    counter: header.counter,
  }
}

/**
 * Reads the credential after the header. Undefined unless there is exactly one, followed by nothing
 * but the extensions that the flag announces.
 */
export function readAttestedCredential(
  header: AuthenticatorHeader,
): AttestedCredential | undefined {
  const { rest } = header
  if (!has(header, 'credential') || rest.length < CREDENTIAL_ID_OFFSET) return undefined
  const idLength = rest.readUInt16BE(AAGUID_BYTES)
  const keyOffset = CREDENTIAL_ID_OFFSET + idLength
  if (idLength === 0 || idLength > MAX_CREDENTIAL_ID_BYTES || rest.length < keyOffset)
    return undefined
  const key = decodeFirstCbor(rest.subarray(keyOffset))
  if (key === undefined || !isExtensions(header, bufferOf(key.rest))) return undefined
  return {
    aaguid: rest.subarray(0, AAGUID_BYTES),
    credentialId: rest.subarray(CREDENTIAL_ID_OFFSET, keyOffset),
    key: key.value,
  }
}

/** Whether the bytes are one map where the flag announces extensions, and nothing where not. */
function isExtensions(header: AuthenticatorHeader, bytes: Buffer): boolean {
  if (!has(header, 'extensions')) return bytes.length === 0
  return bytes.length <= MAX_EXTENSIONS_BYTES && splitMap(bytes) !== undefined
}

function has({ flags }: AuthenticatorHeader, flag: keyof typeof FLAG): boolean {
  return (flags & FLAG[flag]) !== 0
}
