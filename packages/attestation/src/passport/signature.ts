import { constants, type KeyObject, verify } from 'node:crypto'
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
import { bindToPss, passportKey } from './public-key.ts'

/** A signature scheme of a state. RSASSA-PSS names its digests in parameters. */
export type PassportScheme = SignatureScheme | PssScheme

interface PssScheme {
  readonly scheme: 'pss'
  readonly digest: Digest
  readonly saltBytes: number
  readonly parameters: NonNullable<AlgorithmIdentifier['parameters']>
}

const PSS = '1.2.840.113549.1.1.10'

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
 * Returns the scheme of an identifier. Undefined if it is unknown or lacks a digest.
 *
 * @param signerDigest the digest in the signer info
 */
export function passportScheme(
  algorithm: AlgorithmIdentifier,
  signerDigest?: Digest,
): PassportScheme | undefined {
  const scheme = WITHOUT_DIGEST.get(algorithm.id)
  if (scheme !== undefined)
    return signerDigest === undefined ? undefined : { scheme, digest: signerDigest }
  return algorithm.id === PSS ? unlessMalformed(() => pss(algorithm)) : schemeOf(algorithm)
}

/**
 * Reads RSASSA-PSS-params (RFC 4055). The defaults are SHA-1 and a salt of 20 bytes. OpenSSL reads
 * the mask function and the trailer.
 */
function pss({ parameters }: AlgorithmIdentifier): PssScheme | undefined {
  const fields = readSequence(parameters)
  const field = (number: number) => fields.find(({ tag }) => tag === TAG.context(number))
  const digest =
    field(0) === undefined ? 'sha1' : digestOf(readAlgorithm(readExplicit(field(0), 0)))
  const saltBytes = field(2) === undefined ? 20 : readSmall(readExplicit(field(2), 2))
  return parameters === undefined || digest === undefined
    ? undefined
    : { scheme: 'pss', digest, saltBytes, parameters }
}

/** Whether the key made the signature over the message. */
export function isSigned(
  algorithm: PassportScheme,
  { message, signature, spki }: { message: Buffer; signature: Buffer; spki: Buffer },
): boolean {
  const key = algorithm.scheme === 'pss' ? bindToPss(spki, algorithm.parameters) : passportKey(spki)
  if (key === undefined) return false
  switch (algorithm.scheme) {
    case 'pkcs1':
      return (
        key.asymmetricKeyType === 'rsa' &&
        attempt(() =>
          verify(
            algorithm.digest,
            message,
            { key, padding: constants.RSA_PKCS1_PADDING },
            signature,
          ),
        )
      )
    case 'pss': {
      const padding = constants.RSA_PKCS1_PSS_PADDING
      return attempt(() =>
        verify(
          algorithm.digest,
          message,
          { key, padding, saltLength: algorithm.saltBytes },
          signature,
        ),
      )
    }
    case 'ecdsa':
    case 'ecdsa-plain':
      return (
        key.asymmetricKeyType === 'ec' &&
        isEcdsaSigned(algorithm.digest, { message, signature, key })
      )
  }
}

/**
 * Verifies an ECDSA signature in either encoding. Some signers concatenate r and s under an
 * identifier that specifies DER, and some chips do the reverse.
 */
export function isEcdsaSigned(
  digest: Digest,
  { message, signature, key }: { message: Buffer; signature: Buffer; key: KeyObject },
): boolean {
  return (['der', 'ieee-p1363'] as const).some((dsaEncoding) =>
    attempt(() => verify(digest, message, { key, dsaEncoding }, signature)),
  )
}

/** OpenSSL throws for some malformed signatures. Returns false for them. */
function attempt(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}
