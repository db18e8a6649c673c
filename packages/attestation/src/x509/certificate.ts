import type { Instant } from '../environment.ts'
import { type Tlv, type Encoding, Malformed, readTlv, TAG, unlessMalformed } from '../asn1/tlv.ts'
import { readBits, readExplicit, readInteger, readSequence, readTime } from '../asn1/values.ts'
import { type AlgorithmIdentifier, readAlgorithm } from './algorithm.ts'
import { type Extensions, readExtensions } from './extensions.ts'
import { type Name, readName } from './name.ts'

/** What is read of an X.509 certificate. Nothing in it is trusted before a chain has been verified. */
export interface Certificate {
  readonly encoded: Buffer
  readonly encoding: Encoding
  /** 1 to 3. */
  readonly version: number
  /** Lower-case hex without leading zeros, as revocation lists write it. */
  readonly serial: string
  readonly issuer: Name
  readonly subject: Name
  readonly notBefore: Instant
  readonly notAfter: Instant
  /** SPKI. */
  readonly publicKey: Buffer
  readonly extensions: Extensions
  readonly signed: {
    readonly message: Buffer
    readonly algorithm: AlgorithmIdentifier
    readonly signature: Buffer
  }
}

/** Chains of real phones hold up to 2.5 KiB a certificate; one with an ML-DSA key up to 5. */
const MAX_BYTES = 8 * 1024
/** The largest of a state that is recorded is below 3 KiB; they spell out curves, and have keys of 6144 bits. */
const MAX_BYTES_OF_STATE = 16 * 1024

/**
 * Reads a certificate. Undefined for anything that is not one.
 *
 * @param encoding `ber` for states', whose own encoders do not always keep to DER
 */
export function readCertificate(
  encoded: Uint8Array,
  encoding: Encoding = 'der',
): Certificate | undefined {
  const most = encoding === 'ber' ? MAX_BYTES_OF_STATE : MAX_BYTES
  return encoded.length > most
    ? undefined
    : unlessMalformed(() => parse(readTlv(encoded, encoding)))
}

function parse(certificate: Tlv): Certificate {
  const [body, algorithm, signature, ...more] = readSequence(certificate)
  const fields = readSequence(body)
  const version =
    fields[0]?.tag === TAG.context(0) ? readInteger(readExplicit(fields.shift(), 0)) + 1n : 1n
  const [serial, innerAlgorithm, issuer, validity, subject, publicKey, extensions, ...others] =
    fields
  const [notBefore, notAfter, ...later] = readSequence(validity)
  readSequence(publicKey)
  // The algorithm stands twice, and only one of the two is signed.
  if (
    body === undefined ||
    algorithm?.whole.equals(innerAlgorithm?.whole ?? certificate.whole) !== true
  )
    throw new Malformed('algorithm')
  // Unique ids would stand before the extensions; nobody has written them since 1997.
  if (
    version < 1n ||
    version > 3n ||
    publicKey === undefined ||
    more.length + others.length + later.length > 0
  )
    throw new Malformed('certificate')
  return {
    encoded: certificate.whole,
    encoding: certificate.encoding,
    version: Number(version),
    serial: serialOf(serial),
    issuer: readName(issuer),
    subject: readName(subject),
    notBefore: readTime(notBefore),
    notAfter: readTime(notAfter),
    publicKey: publicKey.whole,
    extensions: readExtensions(extensions),
    signed: {
      message: body.whole,
      algorithm: readAlgorithm(algorithm),
      signature: readBits(signature),
    },
  }
}

/** @throws {Malformed} */
export function serialOf(serial: Tlv | undefined): string {
  const number = readInteger(serial)
  // RFC 5280 forbids them; Albania, Kazakhstan and Mozambique have them. Theirs are on no revocation list that is read here.
  if (number < 0n && serial?.encoding !== 'ber') throw new Malformed('serial')
  return number.toString(16)
}

export function isValidAt(
  { notBefore, notAfter }: Pick<Certificate, 'notBefore' | 'notAfter'>,
  instant: Instant,
): boolean {
  return notBefore <= instant && instant <= notAfter
}
