import { hash, type KeyObject, sign } from 'node:crypto'
import { der } from '@bonded/simulator'
import { readCertificate } from '../../src/x509/certificate.ts'

const { element, explicit, integer, octets, oid, sequence, setOf } = der

const DIGEST_ID = { sha256: '2.16.840.1.101.3.4.2.1', sha384: '2.16.840.1.101.3.4.2.2' } as const
const ECDSA_WITH = { sha256: '1.2.840.10045.4.3.2', sha384: '1.2.840.10045.4.3.3' } as const
export type CmsDigest = keyof typeof DIGEST_ID

export const digestNamed = (digest: CmsDigest) => sequence(oid(DIGEST_ID[digest]))
export const ecdsaWith = (digest: CmsDigest) => sequence(oid(ECDSA_WITH[digest]))

/** One SignerInfo: every part of it can be one that no honest signer would write. */
export interface SignerOptions {
  readonly version?: number
  /** How it names its certificate: `signerIdOf` or `keyIdNamed`. */
  readonly signerId: Buffer
  readonly key: KeyObject
  /** That it signs with, unless it says otherwise. */
  readonly digest?: CmsDigest
  readonly digestSaid?: Buffer
  readonly algorithm?: Buffer
  /** Signed in place of the content where they are there. */
  readonly signedAttributes?: readonly Buffer[] | undefined
  /** What is signed, where it is neither. */
  readonly over?: Uint8Array
  readonly unsigned?: readonly Buffer[]
}

/** CMS SignedData (RFC 5652) of a forger's choice. */
export interface SignedDataOptions {
  readonly type?: string
  readonly version?: number
  readonly digests?: readonly Buffer[]
  readonly contentType: string
  readonly content: Uint8Array
  /** Undefined where the list itself is left out. */
  readonly certificates: readonly Uint8Array[] | undefined
  readonly revocationLists?: readonly Buffer[]
  readonly signers: readonly SignerOptions[]
  /** Bytes that follow the content, and bytes that follow the whole of it. */
  readonly besideContent?: readonly Buffer[]
  readonly beside?: readonly Buffer[]
}

export function createCms(options: SignedDataOptions): Buffer {
  const {
    type = '1.2.840.113549.1.7.2',
    version = 3,
    digests = [digestNamed('sha256')],
    revocationLists,
    besideContent = [],
    beside = [],
  } = options
  const signedData = sequence(
    integer(version),
    setOf(...digests),
    sequence(oid(options.contentType), explicit(0, octets(options.content)), ...besideContent),
    ...(options.certificates === undefined ? [] : [explicit(0, ...options.certificates)]),
    ...(revocationLists === undefined ? [] : [explicit(1, ...revocationLists)]),
    setOf(...options.signers.map((signer) => signerInfo(signer, options.content))),
  )
  return sequence(oid(type), explicit(0, signedData), ...beside)
}

function signerInfo(options: SignerOptions, content: Uint8Array): Buffer {
  const {
    version = 1,
    digest = 'sha256',
    digestSaid = digestNamed(digest),
    algorithm = ecdsaWith(digest),
    signedAttributes,
    unsigned = [],
  } = options
  const signed =
    options.over ?? (signedAttributes === undefined ? content : setOf(...signedAttributes))
  return sequence(
    integer(version),
    options.signerId,
    digestSaid,
    ...(signedAttributes === undefined ? [] : [explicit(0, ...signedAttributes)]),
    algorithm,
    octets(sign(digest, signed, options.key)),
    ...unsigned,
  )
}

/**
 * The attributes that a signer signs: the content's type and its digest, or what else is requested
 * in their place.
 */
export function attributesOf(
  contentType: string,
  content: Uint8Array,
  digest: CmsDigest = 'sha256',
): Buffer[] {
  return [attribute('3', oid(contentType)), attribute('4', octets(hash(digest, content, 'buffer')))]
}

/** @param type below PKCS #9 */
export function attribute(type: string, ...values: readonly Buffer[]): Buffer {
  return sequence(oid(`1.2.840.113549.1.9.${type}`), setOf(...values))
}

/** Identifies by issuer and serial number, and by what else stands beside them. */
export function signerIdOf(certificate: Uint8Array, ...more: readonly Buffer[]): Buffer {
  const read = readCertificate(certificate)
  if (read === undefined) throw new Error('not a certificate of ours')
  return sequence(read.issuer.encoded, integer(BigInt(`0x${read.serial}`)), ...more)
}

/** Identifies by the id of its key. */
export function signerIdByKey(keyId: Uint8Array): Buffer {
  return element(0x80, keyId)
}
