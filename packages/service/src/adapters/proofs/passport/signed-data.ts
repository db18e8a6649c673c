import { createHash } from 'node:crypto'
import type { Instant } from '../../../domain/session.ts'
import { type Element, TAG } from '../der/element.ts'
import { oid } from '../der/oid.ts'
import { idOf, inside, numberOf, octetsOf, readBer, sequence, timeOf } from './ber.ts'
import { type Certificate, keyIdOf, readCertificate } from './certificate.ts'
import { inDer } from './definite.ts'
import { type Digest, digestOf } from './digest.ts'
import { nameOf } from './name.ts'
import { isSigned, signatureAlgorithm } from './signature.ts'

/** CMS SignedData (RFC 5652) as states write it: one signer, with signed attributes, in BER. */
export interface SignedData {
  /** Identifier in hex. */
  readonly contentType: string
  readonly content: Buffer
  readonly certificates: readonly Buffer[]
  readonly signer: Signer
}

interface Signer {
  /** How it names its certificate. */
  readonly names: (certificate: Certificate) => boolean
  readonly digest: Digest
  readonly attributes: Element
  readonly algorithm: Element
  readonly signature: Buffer
}

const SIGNED_DATA = oid('1.2.840.113549.1.7.2').toString('hex')
const ATTRIBUTE = {
  contentType: oid('1.2.840.113549.1.9.3').toString('hex'),
  messageDigest: oid('1.2.840.113549.1.9.4').toString('hex'),
  signingTime: oid('1.2.840.113549.1.9.5').toString('hex'),
} as const

/** Doc 9303-10, table 38; of China's plain data too. */
const VERSION = 3
/** RFC 5652, section 5.3: 1 with issuer and serial number, 3 with a key id, where the made-up state writes 1. */
const SIGNER_VERSIONS = { named: [1], keyed: [1, 3] } as const

export function readSignedData(bytes: Buffer): SignedData | undefined {
  const [type, wrapped, ...after] = sequence(readBer(bytes))
  if (idOf(type) !== SIGNED_DATA || after.length > 0) return undefined
  const [version, digests, encapsulated, ...rest] = sequence(inside(wrapped, TAG.context(0))[0])
  if (numberOf(version) !== VERSION) return undefined
  const [contentType, contentField] = sequence(encapsulated)
  const content = octetsOf(inside(contentField, TAG.context(0))[0])
  // Certificates, then revocation lists, which nobody here reads, then the signers; the first of them is the state's.
  const signer = signerOf(inside(rest.at(-1), TAG.set)[0])
  if (content === undefined || signer === undefined || idOf(contentType) === '') return undefined
  // The digest is announced, for whoever reads in one pass.
  if (!inside(digests, TAG.set).map(digestOf).includes(signer.digest)) return undefined
  const certificates = rest.slice(0, -1).find(({ tag }) => tag === TAG.context(0))
  return { contentType: idOf(contentType), content, certificates: inside(certificates, TAG.context(0)).map(({ whole }) => whole), signer }
}

function signerOf(info: Element | undefined): Signer | undefined {
  const [version, identifier, digestAlgorithm, attributes, algorithm, signatureField] = sequence(info)
  const digest = digestOf(digestAlgorithm)
  const signature = octetsOf(signatureField)
  // Doc 9303-10 demands signed attributes: without them a signature over other bytes could pass for one over these.
  const versions: readonly number[] = SIGNER_VERSIONS[identifier?.tag === KEY_ID ? 'keyed' : 'named']
  if (!versions.includes(numberOf(version) ?? 0) || attributes?.tag !== TAG.context(0)) return undefined
  if (identifier === undefined || digest === undefined || algorithm === undefined || signature === undefined) return undefined
  return { names: namedBy(identifier), digest, attributes, algorithm, signature }
}

const KEY_ID = 0x80

function namedBy(identifier: Element): Signer['names'] {
  if (identifier.tag === KEY_ID) return (certificate) => keyIdOf(certificate, 'own')?.equals(identifier.content) === true
  const [issuerName, serial] = sequence(identifier)
  const issuer = nameOf(issuerName)
  const number = serial?.content.toString('hex')
  return (certificate) => issuer !== undefined && certificate.issuer.canonical === issuer.canonical && certificate.serial === number
}

/** More certificates than this are of no document. */
const MAX_CERTIFICATES = 8

/**
 * Certificates that may be the signer's: the one it names first. Some states name none of those that they send;
 * then the signature decides.
 */
export function signerCandidates({ certificates, signer }: SignedData): readonly Certificate[] {
  const read = certificates.slice(0, MAX_CERTIFICATES).flatMap((encoded) => readCertificate(encoded) ?? [])
  const named = read.filter(signer.names)
  return named.length > 0 ? named : read
}

/** Whether the signed attributes are about this content: its type and its digest. */
export function coversContent({ contentType, content, signer }: SignedData): boolean {
  const type = onlyValue(signer, ATTRIBUTE.contentType)
  const digest = onlyValue(signer, ATTRIBUTE.messageDigest)
  const computed = createHash(signer.digest).update(content).digest()
  return idOf(type) === contentType && octetsOf(digest)?.equals(computed) === true
}

/** Whether the certificate's key signed the attributes. */
export function isSignedWith({ signer }: SignedData, { spki }: Certificate): boolean {
  const algorithm = signatureAlgorithm(signer.algorithm, signer.digest)
  return (
    algorithm !== undefined && signedForms(signer.attributes).some((message) => isSigned(algorithm, { message, signature: signer.signature, spki }))
  )
}

/** What is signed is the SET itself (RFC 5652, section 5.4): as it came, or in DER where it came otherwise. */
function signedForms(attributes: Element): readonly Buffer[] {
  const asSent = Buffer.concat([Buffer.of(TAG.set), attributes.whole.subarray(1)])
  const canonical = inDer(attributes, TAG.set)
  return asSent.equals(canonical) ? [asSent] : [asSent, canonical]
}

/** When it was signed, where the signer says so. */
export function signingTime({ signer }: SignedData): Instant | undefined {
  return timeOf(onlyValue(signer, ATTRIBUTE.signingTime))
}

/** The value of an attribute that must stand once and have one. */
function onlyValue({ attributes }: Signer, type: string): Element | undefined {
  const found = inside(attributes, TAG.context(0)).filter((attribute) => idOf(sequence(attribute)[0]) === type)
  const values = found.flatMap((attribute) => inside(sequence(attribute)[1], TAG.set))
  return found.length === 1 && values.length === 1 ? values[0] : undefined
}
