import { constants, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { element, explicit, integer, oid, sequence } from '../test-pki/der.ts'

export type PassportDigest = 'sha1' | 'sha224' | 'sha256' | 'sha384' | 'sha512'

/** A signature scheme of Doc 9303-12. */
export interface PassportSignatureOptions {
  readonly scheme: 'pkcs1' | 'pss' | 'ecdsa' | 'ecdsa-plain'
  readonly digest: PassportDigest
  /** Digest of the PSS mask, if it differs. */
  readonly maskDigest?: PassportDigest
  readonly curve?: string
  readonly rsaBits?: number
  readonly bare?: boolean
}

/** A key with its signature scheme. */
export interface PassportSigner {
  readonly publicKey: KeyObject
  /** AlgorithmIdentifier, DER. */
  readonly algorithm: Buffer
  readonly digest: PassportDigest
  sign(message: Uint8Array): Buffer
}

/** The scheme that most states use in new documents. */
export const USUAL_SIGNATURE: PassportSignatureOptions = {
  scheme: 'ecdsa',
  digest: 'sha256',
  curve: 'brainpoolP256r1',
}

const RSA = '1.2.840.113549.1.1'
const PKCS1 = { sha1: 5, sha224: 14, sha256: 11, sha384: 12, sha512: 13 } as const
const ECDSA = { sha1: '1', sha224: '3.1', sha256: '3.2', sha384: '3.3', sha512: '3.4' } as const
/** Identifiers of ECDSA with concatenated r and s, also used in DG14. */
export const PLAIN_ECDSA = { sha1: 1, sha224: 2, sha256: 3, sha384: 4, sha512: 5 } as const
const DIGEST_ID = {
  sha1: '1.3.14.3.2.26',
  sha224: '2.16.840.1.101.3.4.2.4',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
} as const
export const DIGEST_BYTES = { sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64 } as const

/** Creates a key for this scheme. */
export function createPassportSigner(options: PassportSignatureOptions): PassportSigner {
  const { digest } = options
  const { publicKey, privateKey } = keyPairFor(options)
  return {
    publicKey,
    digest,
    algorithm:
      options.bare === true
        ? sequence(oid(options.scheme === 'pkcs1' ? `${RSA}.1` : '1.2.840.10045.2.1'))
        : identifierOf(options),
    sign: (message) => sign(digest, message, { key: privateKey, ...optionsOf(options) }),
  }
}

/** Encodes the AlgorithmIdentifier of a digest. */
export function digestIdentifier(digest: PassportDigest): Buffer {
  return sequence(oid(DIGEST_ID[digest]))
}

function keyPairFor({
  scheme,
  digest,
  maskDigest = digest,
  curve = 'prime256v1',
  rsaBits = 2048,
}: PassportSignatureOptions): {
  publicKey: KeyObject
  privateKey: KeyObject
} {
  if (scheme === 'pkcs1') return generateKeyPairSync('rsa', { modulusLength: rsaBits })
  if (scheme !== 'pss') return generateKeyPairSync('ec', { namedCurve: curve })
  // Only a key that is bound to its parameters can have another digest for the mask.
  return generateKeyPairSync('rsa-pss', {
    modulusLength: rsaBits,
    hashAlgorithm: digest,
    mgf1HashAlgorithm: maskDigest,
  })
}

function optionsOf({ scheme, digest }: PassportSignatureOptions) {
  if (scheme === 'pss')
    return { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: DIGEST_BYTES[digest] }
  return scheme === 'ecdsa-plain' ? ({ dsaEncoding: 'ieee-p1363' } as const) : {}
}

function identifierOf({ scheme, digest, maskDigest = digest }: PassportSignatureOptions): Buffer {
  switch (scheme) {
    case 'pkcs1':
      return sequence(oid(`${RSA}.${PKCS1[digest]}`), element(0x05))
    case 'pss': {
      const mask = sequence(oid(`${RSA}.8`), digestIdentifier(maskDigest))
      const salt = explicit(2, integer(DIGEST_BYTES[digest]))
      return sequence(
        oid(`${RSA}.10`),
        sequence(explicit(0, digestIdentifier(digest)), explicit(1, mask), salt),
      )
    }
    case 'ecdsa':
      return sequence(oid(`1.2.840.10045.4.${ECDSA[digest]}`))
    case 'ecdsa-plain':
      return sequence(oid(`0.4.0.127.0.7.1.1.4.1.${PLAIN_ECDSA[digest]}`))
  }
}
