import type { Buffer } from 'node:buffer'
import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import { bits, boolean, explicit, integer, octets, oid, printable, sequence, setOf, time, utf8 } from './android-der.ts'

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

export interface CertificateRequest {
  readonly serial: bigint
  readonly subject: Name
  readonly issuer: Name
  /** P-256 or P-384. */
  readonly publicKey: KeyObject
  /** The issuer's; the signature is ECDSA with SHA-256. */
  readonly issuerKey: KeyObject
  readonly notBefore: Date
  readonly notAfter: Date
  readonly extensions: readonly CertificateExtension[]
}

const ECDSA_SHA256 = '1.2.840.10045.4.3.2'

/** Signs a certificate (X.509 version 3, DER). */
export function certify(request: CertificateRequest): Buffer {
  const algorithm = sequence(oid(ECDSA_SHA256))
  const content = sequence(
    explicit(0, integer(2)),
    integer(request.serial),
    algorithm,
    nameOf(request.issuer),
    sequence(time(request.notBefore), time(request.notAfter)),
    nameOf(request.subject),
    publicHalf(request.publicKey).export({ format: 'der', type: 'spki' }),
    ...(request.extensions.length === 0 ? [] : [explicit(3, sequence(...request.extensions.map(extensionOf)))]),
  )
  return sequence(content, algorithm, bits(sign('sha256', content, request.issuerKey)))
}

/** May issue certificates, at most `pathLength` authorities deep. */
export function authority(pathLength?: number): CertificateExtension {
  return { id: '2.5.29.19', critical: true, value: sequence(boolean(true), ...(pathLength === undefined ? [] : [integer(pathLength)])) }
}

/** May not. */
export const notAuthority: CertificateExtension = { id: '2.5.29.19', critical: true, value: sequence() }

function publicHalf(key: KeyObject): KeyObject {
  return key.type === 'public' ? key : createPublicKey(key.export({ format: 'pem', type: 'pkcs8' }))
}

function nameOf(name: Name): Buffer {
  return sequence(
    ...name.map(([attribute, text]) => setOf(sequence(oid(ATTRIBUTES[attribute]), attribute === 'country' ? printable(text) : utf8(text)))),
  )
}

function extensionOf({ id, value, critical = false }: CertificateExtension): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value))
}
