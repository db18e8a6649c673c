import { childrenOf, type Tlv, Malformed, readTlv, TAG, unlessMalformed } from '../asn1/tlv.ts'
import {
  onlyOf,
  readExplicit,
  readOctets,
  readOid,
  readSequence,
  readSetOf,
  readSmall,
} from '../asn1/values.ts'
import {
  type AlgorithmIdentifier,
  type Digest,
  digestOf,
  readAlgorithm,
} from '../x509/algorithm.ts'
import { serialOf } from '../x509/certificate.ts'
import { type Name, readName } from '../x509/name.ts'

/**
 * CMS SignedData (RFC 5652), in BER. The reader checks the structure only. The caller decides which
 * parts are required, and verifies the signature.
 */
export interface SignedData {
  readonly version: number
  readonly digests: readonly (Digest | undefined)[]
  readonly contentType: string
  readonly content: Buffer
  readonly certificates: readonly Buffer[]
  readonly hasRevocationLists: boolean
  /** The first signer. */
  readonly signer: SignerInfo
  /** Number of signers. */
  readonly signerCount: number
}

export interface SignerInfo {
  readonly version: number
  /**
   * How the signer identifies its certificate. Undefined if that cannot be read; the caller then
   * tries the included certificates.
   */
  readonly signerId:
    | { readonly issuer: Name; readonly serial: string }
    | { readonly keyId: Buffer }
    | undefined
  readonly digest: Digest | undefined
  readonly signedAttributes: Tlv | undefined
  readonly algorithm: AlgorithmIdentifier
  readonly signature: Buffer
  readonly hasUnsignedAttributes: boolean
}

const SIGNED_DATA = '1.2.840.113549.1.7.2'
const KEY_ID = 0x80

/** Reads SignedData. Undefined unless it includes its content and at least one signer. */
export function readSignedData(bytes: Uint8Array): SignedData | undefined {
  return unlessMalformed(() => {
    const [type, wrapped, ...after] = readSequence(readTlv(bytes, 'ber'))
    if (readOid(type) !== SIGNED_DATA || after.length > 0) throw new Malformed('content type')
    return parse(readExplicit(wrapped, 0))
  })
}

function parse(signedData: Tlv): SignedData {
  const [version, digests, encapsulated, ...rest] = readSequence(signedData)
  const [contentType, content, ...more] = readSequence(encapsulated)
  const certificates = takeContext(rest, 0)
  const revocationLists = takeContext(rest, 1)
  const signers = readSetOf(onlyOf(rest))
  if (more.length > 0) throw new Malformed('content')
  return {
    version: readSmall(version),
    digests: readSetOf(digests).map((digest) => digestOf(readAlgorithm(digest))),
    contentType: readOid(contentType),
    content: readOctets(readExplicit(content, 0)),
    certificates:
      certificates === undefined
        ? []
        : childrenOf(certificates, certificates.tag).map(({ whole }) => whole),
    hasRevocationLists: revocationLists !== undefined,
    signer: signerOf(signers[0]),
    signerCount: signers.length,
  }
}

function signerOf(info: Tlv | undefined): SignerInfo {
  const [version, signerId, digest, ...rest] = readSequence(info)
  const signedAttributes = takeContext(rest, 0)
  const [algorithm, signature, ...unsigned] = rest
  const hasUnsignedAttributes = takeContext(unsigned, 1) !== undefined
  if (unsigned.length > 0) throw new Malformed('signer')
  return {
    version: readSmall(version),
    signerId:
      signerId?.tag === KEY_ID
        ? { keyId: signerId.content }
        : unlessMalformed(() => issuerAndSerial(signerId)),
    digest: digestOf(readAlgorithm(digest)),
    signedAttributes,
    algorithm: readAlgorithm(algorithm),
    signature: readOctets(signature),
    hasUnsignedAttributes,
  }
}

function issuerAndSerial(tlv: Tlv | undefined): { issuer: Name; serial: string } {
  const [issuer, serial, ...more] = readSequence(tlv)
  if (more.length > 0) throw new Malformed('signer')
  return { issuer: readName(issuer), serial: serialOf(serial) }
}

/** Removes and returns the first element if it has this context tag. */
function takeContext(elements: Tlv[], number: number): Tlv | undefined {
  return elements[0]?.tag === TAG.context(number) ? elements.shift() : undefined
}
