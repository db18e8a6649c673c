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
import { isSigned, passportScheme } from './signature.ts'

/** SignedData as states write it: the signer has signed attributes of the content. Others may have signed beside the state. */
export interface SignedDocument extends SignedData {
  readonly signer: SignerInfo & { readonly digest: Digest; readonly signedAttributes: Tlv }
}

const ATTRIBUTE = {
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingTime: '1.2.840.113549.1.9.5',
} as const
/** Doc 9303-10, table 38; of China's plain data too. */
const VERSION = 3
/** RFC 5652, section 5.3: 1 with issuer and serial number, 3 with a key id, where the made-up state writes 1. */
const SIGNER_VERSIONS = { named: [1], keyed: [1, 3] } as const

export function readSignedDocument(bytes: Buffer): SignedDocument | undefined {
  const read = readSignedData(bytes)
  const { named, version, digest, signedAttributes } = read?.signer ?? {}
  const versions: readonly number[] =
    SIGNER_VERSIONS[named !== undefined && 'keyId' in named ? 'keyed' : 'named']
  if (read?.version !== VERSION || version === undefined || !versions.includes(version))
    return undefined
  // Doc 9303-10 demands signed attributes: without them a signature over other bytes could pass for one over these.
  // The digest is announced, for whoever reads in one pass.
  if (signedAttributes === undefined || digest === undefined || !read.digests.includes(digest))
    return undefined
  return { ...read, signer: { ...read.signer, digest, signedAttributes } }
}

/** More certificates than this are of no document. */
const MAX_CERTIFICATES = 8

/**
 * Certificates that may be the signer's: the one it names first. Some states name none of those that they send;
 * then the signature decides.
 */
export function signerCandidates({ certificates, signer }: SignedDocument): readonly Certificate[] {
  const read = certificates
    .slice(0, MAX_CERTIFICATES)
    .flatMap((encoded) => readStateCertificate(encoded) ?? [])
  const named = read.filter((certificate) => isNamedBy(signer, certificate))
  return named.length > 0 ? named : read
}

function isNamedBy({ named }: SignerInfo, certificate: Certificate): boolean {
  if (named === undefined) return false
  if ('keyId' in named) return keyIdOf(certificate, 'own')?.equals(named.keyId) === true
  return (
    certificate.issuer.canonical === named.issuer.canonical && certificate.serial === named.serial
  )
}

/** Whether the signed attributes are about this content: its type and its digest. */
export function coversContent({ contentType, content, signer }: SignedDocument): boolean {
  const computed = createHash(signer.digest).update(content).digest()
  return (
    attributeOf(signer, ATTRIBUTE.contentType, readOid) === contentType &&
    attributeOf(signer, ATTRIBUTE.messageDigest, readOctets)?.equals(computed) === true
  )
}

/** Whether the certificate's key signed the attributes. */
export function isSignedWith({ signer }: SignedDocument, { publicKey }: Certificate): boolean {
  const { algorithm, digest, signedAttributes, signature } = signer
  const scheme = passportScheme(algorithm, digest)
  return (
    scheme !== undefined &&
    signedForms(signedAttributes).some((message) =>
      isSigned(scheme, { message, signature, spki: publicKey }),
    )
  )
}

/** What is signed is the SET itself (RFC 5652, section 5.4): as it came, or in DER where it came otherwise. */
function signedForms(attributes: Tlv): readonly Buffer[] {
  const asSent = Buffer.concat([Buffer.of(TAG.set), attributes.whole.subarray(1)])
  const canonical = unlessMalformed(() => toDer(attributes, TAG.set))
  return canonical === undefined || asSent.equals(canonical) ? [asSent] : [asSent, canonical]
}

/** When it was signed, where the signer says so. */
export function signingTime({ signer }: SignedDocument): Instant | undefined {
  return attributeOf(signer, ATTRIBUTE.signingTime, readTime)
}

/** The value of an attribute that must stand once and have one. */
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
