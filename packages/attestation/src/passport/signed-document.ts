import { createHash } from 'node:crypto'
import type { Instant } from '../environment.ts'
import { readSignedData, type SignedData, type SignerInfo } from '../cms/signed-data.ts'
import { childrenOf, type Tlv, TAG, unlessMalformed } from '../asn1/tlv.ts'
import { onlyOf, readOctets, readOid, readSequence, readSetOf, readTime } from '../asn1/values.ts'
import { toDer } from '../asn1/write.ts'
import type { Digest } from '../x509/algorithm.ts'
import type { Certificate } from '../x509/certificate.ts'
import { keyIdOf } from '../x509/extensions.ts'
import { readStateCertificate } from './state-certificate.ts'
import type { Verdict } from './ecdsa.ts'
import { findSigned, verifySigned } from './signature.ts'

/** SignedData as states write it, with signed attributes. It may have additional signers. */
export interface SignedDocument extends SignedData {
  readonly signer: SignerInfo & { readonly digest: Digest; readonly signedAttributes: Tlv }
}

const ATTRIBUTE = {
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
} as const
/** Doc 9303-10, table 38. Chinese objects with plain data use it too. */
const VERSION = 3
/**
 * RFC 5652, section 5.3: 1 for issuer and serial number, 3 for a key id. The ICAO specimen state
 * writes 1 with a key id.
 */
const SIGNER_VERSIONS = { issuerAndSerial: [1], keyId: [1, 3] } as const

/** Reads a signed document. Undefined unless it has signed attributes and the required versions. */
export function readSignedDocument(bytes: Buffer): SignedDocument | undefined {
  const read = readSignedData(bytes)
  const { signerId, version, digest, signedAttributes } = read?.signer ?? {}
  const versions: readonly number[] =
    SIGNER_VERSIONS[signerId !== undefined && 'keyId' in signerId ? 'keyId' : 'issuerAndSerial']
  if (read?.version !== VERSION || version === undefined || !versions.includes(version))
    return undefined
  // Doc 9303-10 requires signed attributes. Without them, a signature over other bytes could be
  // presented as one over this content. RFC 5652 requires the signer's digest in the list of
  // digests.
  if (signedAttributes === undefined || digest === undefined || !read.digests.includes(digest))
    return undefined
  return { ...read, signer: { ...read.signer, digest, signedAttributes } }
}

/** No genuine document includes more certificates. */
const MAX_CERTIFICATES = 8

/**
 * Returns the certificates that may belong to the signer: those that match its identifier. Some
 * states identify none of the included certificates. Then all are candidates, and the signature
 * decides.
 */
export function signerCandidates({ certificates, signer }: SignedDocument): readonly Certificate[] {
  const read = certificates
    .slice(0, MAX_CERTIFICATES)
    .flatMap((encoded) => readStateCertificate(encoded) ?? [])
  const identified = read.filter((certificate) => identifies(signer, certificate))
  return identified.length > 0 ? identified : read
}

function identifies({ signerId }: SignerInfo, certificate: Certificate): boolean {
  if (signerId === undefined) return false
  if ('keyId' in signerId) return keyIdOf(certificate, 'own')?.equals(signerId.keyId) === true
  return (
    certificate.issuer.canonical === signerId.issuer.canonical &&
    certificate.serial === signerId.serial
  )
}

/** Whether the signed attributes contain the type and the digest of this content. */
export function coversContent({ contentType, content, signer }: SignedDocument): boolean {
  const computed = createHash(signer.digest).update(content).digest()
  return (
    attributeOf(signer, ATTRIBUTE.contentType, readOid) === contentType &&
    attributeOf(signer, ATTRIBUTE.messageDigest, readOctets)?.equals(computed) === true
  )
}

/** Whether the certificate's key signed the attributes. */
export function verifySignedWith(
  { signer }: SignedDocument,
  { publicKey: spki }: Certificate,
): Verdict {
  const { algorithm, digest: signerDigest, signedAttributes, signature } = signer
  const found = findSigned(signedForms(signedAttributes), (message) =>
    verifySigned(algorithm, { message, signature, spki, signerDigest }),
  )
  return typeof found === 'string' ? found : 'signed'
}

/**
 * Returns the messages that the signature may cover: the SET as received, and in DER if that
 * differs (RFC 5652, section 5.4).
 */
function signedForms(attributes: Tlv): readonly Buffer[] {
  const asSent = Buffer.concat([Buffer.of(TAG.set), attributes.whole.subarray(1)])
  const canonical = unlessMalformed(() => toDer(attributes, TAG.set))
  return canonical === undefined || asSent.equals(canonical) ? [asSent] : [asSent, canonical]
}

/** Returns the signing time attribute. Undefined if it is absent or malformed. */
export function signingTime({ signer }: SignedDocument): Instant | undefined {
  return attributeOf(signer, ATTRIBUTE.signingTime, readTime)
}

/** Reads an attribute. Undefined unless it occurs once and has one value. */
function attributeOf<T>(
  { signedAttributes }: SignedDocument['signer'],
  type: string,
  read: (value: Tlv) => T,
): T | undefined {
  return unlessMalformed(() => {
    const attributes = childrenOf(signedAttributes, signedAttributes.tag).map(readSequence)
    const [, values] = onlyOf(attributes.filter(([id]) => readOid(id) === type))
    return read(onlyOf(readSetOf(values)))
  })
}
