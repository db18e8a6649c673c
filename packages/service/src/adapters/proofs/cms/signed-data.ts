import { childrenOf, type Element, isElement, readElement, TAG } from '../der/element.ts'
import { oid } from '../der/oid.ts'
import { digestOf } from '../apple/certificate.ts'

/** CMS SignedData with one signer who signed the content itself (RFC 5652), in BER. */
export interface SignedData {
  readonly content: Buffer
  readonly certificates: readonly Buffer[]
  readonly signer: {
    readonly issuer: Buffer
    readonly serial: Buffer
    readonly digest: string
    readonly signature: Buffer
  }
}

const SIGNED_DATA = oid('1.2.840.113549.1.7.2')
const DATA = oid('1.2.840.113549.1.7.1')
const SHA256 = oid('2.16.840.1.101.3.4.2.1')

/** Version, digest algorithms, content, certificates, signer infos: no revocation lists, which nobody here would read. */
export function readSignedData(bytes: Buffer): SignedData | undefined {
  const [type, wrapped] = ber(readElement(bytes, 'ber'), TAG.sequence)
  if (!isElement(type, TAG.oid, SIGNED_DATA)) return undefined
  const fields = ber(ber(wrapped, TAG.context(0))[0], TAG.sequence)
  const [version, digests, encapsulated, certificates, signers] = fields
  if (fields.length !== 5 || version?.tag !== TAG.integer || digests?.tag !== TAG.set) return undefined
  const content = contentOf(encapsulated)
  const [signerInfo, ...others] = ber(signers, TAG.set)
  const signer = signerOf(signerInfo)
  if (content === undefined || signer === undefined || others.length > 0) return undefined
  return { content, certificates: ber(certificates, TAG.context(0)).map(({ whole }) => whole), signer }
}

/** The content, which BER may cut into pieces. */
function contentOf(encapsulated: Element | undefined): Buffer | undefined {
  const [type, wrapped] = ber(encapsulated, TAG.sequence)
  const [octets, ...more] = ber(wrapped, TAG.context(0))
  if (!isElement(type, TAG.oid, DATA) || more.length > 0) return undefined
  if (octets?.tag === TAG.octetString) return octets.content
  const pieces = ber(octets, TAG.constructedOctetString)
  if (pieces.length === 0 || pieces.some(({ tag }) => tag !== TAG.octetString)) return undefined
  return Buffer.concat(pieces.map((piece) => piece.content))
}

/** Version, issuer and serial, digest, signature algorithm, signature: no signed attributes, so the content is what is signed. */
function signerOf(info: Element | undefined): SignedData['signer'] | undefined {
  const fields = ber(info, TAG.sequence)
  const [version, named, digestAlgorithm, signatureAlgorithm, signature] = fields
  const [issuer, serial] = ber(named, TAG.sequence)
  const digest = digestOf(signatureAlgorithm)
  if (fields.length !== 5 || version?.tag !== TAG.integer || signature?.tag !== TAG.octetString) return undefined
  if (!isElement(ber(digestAlgorithm, TAG.sequence)[0], TAG.oid, SHA256) || digest !== 'sha256') return undefined
  if (issuer?.tag !== TAG.sequence || serial?.tag !== TAG.integer) return undefined
  return { issuer: issuer.whole, serial: serial.content, digest, signature: signature.content }
}

function ber(element: Element | undefined, tag: number): readonly Element[] {
  return childrenOf(element, tag, 'ber') ?? []
}
