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

/** CMS SignedData (RFC 5652), in BER. What of it must be there, who signs and how, says who reads it. */
export interface SignedData {
  readonly version: number
  readonly digests: readonly (Digest | undefined)[]
  readonly contentType: string
  readonly content: Buffer
  readonly certificates: readonly Buffer[]
  readonly hasRevocationLists: boolean
  /** The first of them. */
  readonly signer: SignerInfo
  readonly signers: number
}

export interface SignerInfo {
  readonly version: number
  /** How it names its certificate. Undefined where that cannot be read: then it names none, and the signature decides. */
  readonly named:
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

/** Undefined for what is not SignedData with its content in it and a signer. */
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
    signers: signers.length,
  }
}

function signerOf(info: Tlv | undefined): SignerInfo {
  const [version, named, digest, ...rest] = readSequence(info)
  const signedAttributes = takeContext(rest, 0)
  const [algorithm, signature, ...unsigned] = rest
  const hasUnsignedAttributes = takeContext(unsigned, 1) !== undefined
  if (unsigned.length > 0) throw new Malformed('signer')
  return {
    version: readSmall(version),
    named:
      named?.tag === KEY_ID
        ? { keyId: named.content }
        : unlessMalformed(() => issuerAndSerial(named)),
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

/** The first of these elements, where it has this tag. */
function takeContext(elements: Tlv[], number: number): Tlv | undefined {
  return elements[0]?.tag === TAG.context(number) ? elements.shift() : undefined
}
