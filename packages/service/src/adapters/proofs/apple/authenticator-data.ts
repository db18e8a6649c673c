import { bytesOf, decodeFirstCbor } from '../cbor/strict-cbor.ts'
import { type Extensions, readExtensions } from './extensions.ts'

/** SHA-256 of the app id (32), flags (1), counter (4). */
const HEADER_BYTES = 37
const FLAGS_AT = 32
const COUNTER_AT = 33
const ATTESTED_CREDENTIAL_FLAG = 0x40
/** AAGUID (16), length of the credential id (2), credential id (32). */
const CREDENTIAL_ID_LENGTH_AT = 53
const CREDENTIAL_ID_AT = 55
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

/** Authenticator data of an assertion. It has the flag of a credential that does not follow: flags are not read. */
export function readAuthenticatorData(bytes: Buffer): AuthenticatorData | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const extensions = readExtensions(bytes.subarray(HEADER_BYTES))
  return extensions && { ...header(bytes), extensions }
}

/** Authenticator data of an attestation object, which holds the credential. */
export function readAttestedData(bytes: Buffer): AttestedData | undefined {
  if (bytes.length <= COSE_KEY_AT || bytes.readUInt16BE(CREDENTIAL_ID_LENGTH_AT) !== CREDENTIAL_ID_BYTES) return undefined
  if (((bytes[FLAGS_AT] ?? 0) & ATTESTED_CREDENTIAL_FLAG) === 0) return undefined
  const key = decodeFirstCbor(bytes.subarray(COSE_KEY_AT))
  const point = key && pointOf(key.value)
  const extensions = key && readExtensions(Buffer.from(key.rest))
  if (point === undefined || extensions === undefined) return undefined
  const aaguid = bytes.subarray(HEADER_BYTES, CREDENTIAL_ID_LENGTH_AT)
  return { ...header(bytes), aaguid, credentialId: bytes.subarray(CREDENTIAL_ID_AT, COSE_KEY_AT), point, extensions }
}

function header(bytes: Buffer) {
  return { appIdHash: bytes.subarray(0, 32), counter: bytes.readUInt32BE(COUNTER_AT) }
}

/** A COSE key of type EC2, algorithm ES256, curve P-256: these five members and no other. */
function pointOf(key: unknown): Buffer | undefined {
  if (!(key instanceof Map) || key.size !== 5) return undefined
  if (key.get(1) !== 2 || key.get(3) !== -7 || key.get(-1) !== 1) return undefined
  const [x, y] = [bytesOf(key.get(-2)), bytesOf(key.get(-3))]
  return x?.length === 32 && y?.length === 32 ? Buffer.concat([Buffer.of(4), x, y]) : undefined
}
