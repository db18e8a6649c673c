import { hash } from 'node:crypto'
import { element, explicit, integer, octets, oid, sequence, setOf, time } from '../test-pki/der.ts'
import { digestIdentifier, type PassportSigner } from './signer.ts'

/** The inputs of CMS SignedData. */
export interface SignedDataOptions {
  readonly contentType: string
  readonly content: Uint8Array
  readonly certificates: readonly Uint8Array[]
  /** The certificate that the signer info names. */
  readonly signerCertificate: Uint8Array
  readonly signer: PassportSigner
  readonly signingTime?: number | undefined
  /** Indefinite lengths, as New Zealand's encoder writes the outer layers. */
  readonly indefinite?: boolean | undefined
}

/** Creates CMS SignedData with one signer and signed attributes (RFC 5652). */
export function createSignedData(options: SignedDataOptions): Buffer {
  const { contentType, content, signer, indefinite = false } = options
  const wrap = indefinite ? openEnded : element
  const attribute = (type: string, value: Uint8Array) =>
    sequence(oid(`1.2.840.113549.1.9.${type}`), setOf(value))
  const attributes = [
    attribute('3', oid(contentType)),
    attribute('4', octets(hash(signer.digest, content, 'buffer'))),
    ...(options.signingTime === undefined ? [] : [attribute('5', time(options.signingTime))]),
  ].sort((one, other) => Buffer.compare(one, other))
  const signerInfo = sequence(
    integer(1),
    issuerAndSerial(options.signerCertificate),
    digestIdentifier(signer.digest),
    explicit(0, ...attributes),
    signer.algorithm,
    octets(signer.sign(setOf(...attributes))),
  )
  const pieces = indefinite
    ? wrap(0x24, octets(content.subarray(0, 20)), octets(content.subarray(20)))
    : octets(content)
  const signedData = wrap(
    0x30,
    integer(3),
    setOf(digestIdentifier(signer.digest)),
    wrap(0x30, oid(contentType), wrap(0xa0, pieces)),
    explicit(0, ...options.certificates),
    setOf(signerInfo),
  )
  return wrap(0x30, oid('1.2.840.113549.1.7.2'), wrap(0xa0, signedData))
}

/** Encodes an element of indefinite length. */
function openEnded(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.of(tag, 0x80), ...contents, Buffer.of(0, 0)])
}

/** Reads issuer and serial number from a certificate of this simulator. */
function issuerAndSerial(certificate: Uint8Array): Buffer {
  const [body = Buffer.alloc(0)] = membersOf(certificate)
  const [, serial = Buffer.alloc(0), , issuer = Buffer.alloc(0)] = membersOf(body)
  return sequence(issuer, serial)
}

/**
 * Returns the children of an element. Supports definite lengths up to 64 KiB, which is all that
 * this simulator writes into certificates.
 */
function membersOf(bytes: Uint8Array): Buffer[] {
  const whole = Buffer.from(bytes)
  const members: Buffer[] = []
  for (let index = headOf(whole, 0).length; index < whole.length; ) {
    const head = headOf(whole, index)
    members.push(whole.subarray(index, index + head.length + head.contentBytes))
    index += head.length + head.contentBytes
  }
  return members
}

function headOf(bytes: Buffer, at: number): { length: number; contentBytes: number } {
  const first = bytes.readUInt8(at + 1)
  const octetsUsed = first < 0x80 ? 0 : first & 0x7f
  return {
    length: 2 + octetsUsed,
    contentBytes: octetsUsed === 0 ? first : bytes.readUIntBE(at + 2, octetsUsed),
  }
}
