import { Buffer } from 'node:buffer'
import { type KeyObject, randomBytes, sign } from 'node:crypto'
import {
  bits,
  boolean,
  explicit,
  integer,
  octets,
  oid,
  printable,
  sequence,
  setOf,
  time,
  utf8,
} from './der.ts'
import { publicHalf } from './key.ts'

/** A name as pairs of attribute and text. */
export type Name = readonly (readonly [keyof typeof ATTRIBUTES, string])[]

const ATTRIBUTES = {
  country: '2.5.4.6',
  organization: '2.5.4.10',
  unit: '2.5.4.11',
  commonName: '2.5.4.3',
  serialNumber: '2.5.4.5',
  title: '2.5.4.12',
} as const

export interface CertificateExtension {
  readonly id: string
  readonly value: Uint8Array
  readonly critical?: boolean
}

interface CertificateContent {
  readonly serial: bigint
  readonly subject: Name
  readonly issuer: Name
  readonly publicKey: KeyObject
  readonly notBefore: Date | number
  readonly notAfter: Date | number
  readonly extensions: readonly CertificateExtension[]
}

export interface CertificateRequest extends CertificateContent {
  /** Private key of the issuer. It signs with ECDSA. */
  readonly issuerKey: KeyObject
  /** Default: SHA-256. */
  readonly digest?: 'sha256' | 'sha384'
}

/** A signer with another scheme than ECDSA with SHA-256 or SHA-384. */
export interface CertificateSigner {
  /** AlgorithmIdentifier, DER. */
  readonly algorithm: Buffer
  sign(message: Uint8Array): Buffer
}

const ECDSA_WITH = { sha256: '1.2.840.10045.4.3.2', sha384: '1.2.840.10045.4.3.3' } as const

/** Signs a certificate (X.509 version 3, DER). */
export function certify({ issuerKey, digest = 'sha256', ...content }: CertificateRequest): Buffer {
  return certifyBy(
    {
      algorithm: sequence(oid(ECDSA_WITH[digest])),
      sign: (message) => sign(digest, message, issuerKey),
    },
    content,
  )
}

/** Signs a certificate with the given signer. */
export function certifyBy(signer: CertificateSigner, content: CertificateContent): Buffer {
  const body = sequence(
    explicit(0, integer(2)),
    integer(content.serial),
    signer.algorithm,
    nameOf(content.issuer),
    sequence(time(content.notBefore), time(content.notAfter)),
    nameOf(content.subject),
    publicHalf(content.publicKey).export({ format: 'der', type: 'spki' }),
    // A list without extensions may not be there at all.
    ...(content.extensions.length === 0
      ? []
      : [explicit(3, sequence(...content.extensions.map(extensionOf)))]),
  )
  return sequence(body, signer.algorithm, bits(signer.sign(body)))
}

/** Returns a random serial number. */
export function newSerial(): bigint {
  return BigInt(`0x${randomBytes(15).toString('hex')}`)
}

/** Basic constraints of an authority, with at most `pathLength` authorities below it. */
export function authority(pathLength?: number): CertificateExtension {
  return {
    id: '2.5.29.19',
    critical: true,
    value: sequence(boolean(true), ...(pathLength === undefined ? [] : [integer(pathLength)])),
  }
}

/** Basic constraints of a certificate that may not issue others. */
export const notAuthority: CertificateExtension = {
  id: '2.5.29.19',
  critical: true,
  value: sequence(),
}

/**
 * Key usage.
 *
 * @param unused the number of unused bits in the byte
 */
export function keyUsage(flags: number, unused: number): CertificateExtension {
  return { id: '2.5.29.15', critical: true, value: bits(Buffer.of(flags), unused) }
}

/** Key usage of an authority: signing certificates and revocation lists. */
export const SIGNS_CERTIFICATES = keyUsage(0x06, 1)

/** Encodes a certificate as PEM. */
export function pemOf(certificate: Uint8Array): string {
  const lines =
    Buffer.from(certificate)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

function nameOf(name: Name): Buffer {
  return sequence(
    ...name.map(([attribute, text]) =>
      setOf(
        sequence(
          oid(ATTRIBUTES[attribute]),
          attribute === 'country' ? printable(text) : utf8(text),
        ),
      ),
    ),
  )
}

function extensionOf({ id, value, critical = false }: CertificateExtension): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value))
}
