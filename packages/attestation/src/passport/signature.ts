import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { TAG, unlessMalformed } from '../asn1/tlv.ts'
import { readExplicit, readSequence, readSmall } from '../asn1/values.ts'
import {
  type AlgorithmIdentifier,
  type Digest,
  digestOf,
  readAlgorithm,
  type SignatureScheme,
  schemeOf,
} from '../x509/algorithm.ts'
import { attempt, type Verdict, verifyEcdsa } from './ecdsa.ts'
import { bindToPss, readPassportKey, type RsaKey } from './public-key.ts'

/** A signature scheme of a state. RSASSA-PSS names its digests in parameters. */
type PassportScheme = SignatureScheme | PssScheme

interface PssScheme {
  readonly scheme: 'pss'
  readonly digest: Digest
  readonly saltBytes: number
  /** Whether the mask uses the same digest, and the trailer is the usual one. */
  readonly isUsual: boolean
  readonly parameters: NonNullable<AlgorithmIdentifier['parameters']>
}

const PSS = '1.2.840.113549.1.1.10'
const MASK = '1.2.840.113549.1.1.8'

/**
 * Identifiers that name only the kind of key. Australia, New Zealand and the United States write
 * them; the digest is in the signer info.
 */
const WITHOUT_DIGEST = new Map<string, 'pkcs1' | 'ecdsa'>([
  ['1.2.840.113549.1.1.1', 'pkcs1'],
  ['1.2.840.10045.2.1', 'ecdsa'],
  ['1.2.840.10045.4.3', 'ecdsa'],
])

/**
 * Returns the scheme of an identifier, `unsupported` for an unknown one, and undefined for one that
 * is malformed or lacks a digest.
 */
function schemeFor(
  algorithm: AlgorithmIdentifier,
  signerDigest: Digest | undefined,
): PassportScheme | 'unsupported' | undefined {
  const scheme = WITHOUT_DIGEST.get(algorithm.id)
  if (scheme !== undefined)
    return signerDigest === undefined ? undefined : { scheme, digest: signerDigest }
  return algorithm.id === PSS
    ? unlessMalformed(() => pss(algorithm))
    : (schemeOf(algorithm) ?? 'unsupported')
}

/** Reads RSASSA-PSS-params (RFC 4055). The defaults: SHA-1, a salt of 20 bytes, and trailer 1. */
function pss({ parameters }: AlgorithmIdentifier): PssScheme | undefined {
  const fields = readSequence(parameters)
  const field = (number: number) => fields.find(({ tag }) => tag === TAG.context(number))
  const digest =
    field(0) === undefined ? 'sha1' : digestOf(readAlgorithm(readExplicit(field(0), 0)))
  const mask = field(1) === undefined ? undefined : readAlgorithm(readExplicit(field(1), 1))
  const maskDigest = mask === undefined ? 'sha1' : digestOf(readAlgorithm(mask.parameters))
  const saltBytes = field(2) === undefined ? 20 : readSmall(readExplicit(field(2), 2))
  const trailer = field(3) === undefined ? 1 : readSmall(readExplicit(field(3), 3))
  const isUsual = maskDigest === digest && (mask?.id ?? MASK) === MASK && trailer === 1
  return parameters === undefined || digest === undefined
    ? undefined
    : { scheme: 'pss', digest, saltBytes, isUsual, parameters }
}

/**
 * Whether the key made the signature over the message.
 *
 * @param signerDigest the digest in the signer info, for identifiers that name none
 */
export function verifySigned(
  algorithm: AlgorithmIdentifier,
  {
    signerDigest,
    ...signed
  }: { message: Buffer; signature: Buffer; spki: Buffer; signerDigest?: Digest },
): Verdict {
  const scheme = schemeFor(algorithm, signerDigest)
  if (scheme === 'unsupported') return 'unsupported'
  const key = readPassportKey(signed.spki)
  if (scheme === undefined || key === undefined) return 'not_signed'
  if (scheme.scheme === 'pss' || scheme.scheme === 'pkcs1')
    return key.kind === 'rsa' ? verifyRsa(scheme, { ...signed, key }) : 'not_signed'
  return key.kind === 'ec' ? verifyEcdsa(scheme.digest, { ...signed, key }) : 'not_signed'
}

function verifyRsa(
  scheme: PssScheme | SignatureScheme,
  { message, signature, key }: { message: Buffer; signature: Buffer; key: RsaKey },
): Verdict {
  if (scheme.scheme !== 'pss') {
    if (key.pssOnly) return 'not_signed'
    return check(key.key, (loaded) =>
      verify(
        scheme.digest,
        message,
        { key: loaded, padding: constants.RSA_PKCS1_PADDING },
        signature,
      ),
    )
  }
  const { digest, saltBytes: saltLength, isUsual, parameters } = scheme
  const padding = constants.RSA_PKCS1_PSS_PADDING
  if (!isUsual && !readsMask()) return 'unsupported'
  return check(isUsual ? key.key : bindToPss(key, parameters), (loaded) =>
    verify(digest, message, { key: loaded, padding, saltLength }, signature),
  )
}

/** A signature with SHA-256, and a mask with SHA-1 that the parameters of the key name. */
const MASKED = {
  message: Buffer.from('mask'),
  spki: Buffer.from(
    'MIGwMB4GCSqGSIb3DQEBCjARoA8wDQYJYIZIAWUDBAIBBQADgY0AMIGJAoGBAMk5rogPclq7/1pi9q6FzJnctXxj' +
      'w9NRsIwjtCuwxTqzHvGesc1ql735MfrADtvJrh4FRYA5AV0XLCHdZ8++Qdcb6+UbTYgFT1EMY475bGh48UfKOd3W' +
      'S5rLsy12aDay7UilixkSwOTnP4OWOSv1jqa42JTUtGeqQlFFV+pEVbB7AgMBAAE=',
    'base64',
  ),
  signature: Buffer.from(
    'FbKXbdoNjXBYuEg23DJhCxLziWsKdfi81K70m12KVTlIGelcNkFXdPWmucophtP16x+crMhA7NfEKyuL8sTx4wes' +
      'eYOev0tSx1RnO9t2qcKPf3dNj4tIGTxxfJ1wg/UoBUMtqMlOPBQiQVF14aSlGW8C7uHHhOUHcw7klZjbi2c=',
    'base64',
  ),
} as const

let mask: boolean | undefined

/** Whether the runtime enforces the parameters of a key. Deno ignores them, Bun rejects them. */
function readsMask(): boolean {
  mask ??= attempt(() => {
    const key = createPublicKey({ key: MASKED.spki, format: 'der', type: 'spki' })
    const padding = constants.RSA_PKCS1_PSS_PADDING
    return verify('sha256', MASKED.message, { key, padding, saltLength: 20 }, MASKED.signature)
  })
  return mask
}

/** `unsupported` for a key that the runtime cannot load. */
function check(key: KeyObject | undefined, verifies: (key: KeyObject) => boolean): Verdict {
  if (key === undefined) return 'unsupported'
  return attempt(() => verifies(key)) ? 'signed' : 'not_signed'
}

/**
 * Looks for the first candidate that made a signature.
 *
 * @returns `unsupported` if there is none, and a candidate could not be checked
 */
export function findSigned<Candidate>(
  candidates: readonly Candidate[],
  verdictOn: (candidate: Candidate) => Verdict,
): Candidate | Exclude<Verdict, 'signed'> {
  let last: Exclude<Verdict, 'signed'> = 'not_signed'
  for (const candidate of candidates) {
    const verdict = verdictOn(candidate)
    if (verdict === 'signed') return candidate
    if (verdict === 'unsupported') last = verdict
  }
  return last
}
