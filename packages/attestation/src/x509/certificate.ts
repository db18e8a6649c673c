import type { Instant } from '../environment.ts'
import { type Tlv, type Encoding, Malformed, readTlv, TAG, unlessMalformed } from '../asn1/tlv.ts'
import { readBits, readExplicit, readInteger, readSequence, readTime } from '../asn1/values.ts'
import { type AlgorithmIdentifier, readAlgorithm } from './algorithm.ts'
import { type Extensions, readExtensions } from './extensions.ts'
import { type Name, readName } from './name.ts'

/** A parsed X.509 certificate. Do not trust any of it before its chain has been verified. */
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

/** Certificates of real phones have up to 2.5 KiB, and one with an ML-DSA key up to 5 KiB. */
const MAX_BYTES = 8 * 1024
/**
 * The largest recorded certificate of a state has less than 3 KiB. States write explicit curve
 * parameters and use RSA keys of 6144 bits.
 */
const MAX_STATE_BYTES = 16 * 1024

/**
 * Reads a certificate. Undefined if the bytes are not one.
 *
 * @param encoding `ber` for certificates of states, whose encoders do not always write DER
 */
export function readCertificate(
  encoded: Uint8Array,
  encoding: Encoding = 'der',
): Certificate | undefined {
  const maxBytes = encoding === 'ber' ? MAX_STATE_BYTES : MAX_BYTES
  return encoded.length > maxBytes
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
  // The algorithm occurs twice, and the signature covers only the inner one.
  if (
    body === undefined ||
    algorithm?.whole.equals(innerAlgorithm?.whole ?? certificate.whole) !== true
  )
    throw new Malformed('algorithm')
  // Unique identifiers, which precede the extensions, have been obsolete since 1997.
  if (
    version < 1n ||
    version > 3n ||
    publicKey === undefined ||
    more.length + others.length + later.length > 0
  )
    throw new Malformed('certificate')
  // RFC 5280, section 4.1.2.9: only version 3 has extensions. A reader that ignores those of
  // version 1 would not see that the certificate may issue others, or may not.
  if (version !== 3n && extensions !== undefined) throw new Malformed('extensions')
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

/**
 * Reads a serial number as lower-case hex without leading zeros.
 *
 * @throws {Malformed} for another type, and for a negative number in DER
 */
export function serialOf(serial: Tlv | undefined): string {
  const number = readInteger(serial)
  // RFC 5280 forbids negative serials, but Albania, Kazakhstan and Mozambique use them. No
  // revocation list that this package reads names certificates of states.
  if (number < 0n && serial?.encoding !== 'ber') throw new Malformed('serial')
  return number.toString(16)
}

/** Whether the instant is within the validity period, both ends included. */
export function isValidAt(
  { notBefore, notAfter }: Pick<Certificate, 'notBefore' | 'notAfter'>,
  instant: Instant,
): boolean {
  return notBefore <= instant && instant <= notAfter
}
