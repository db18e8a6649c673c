import { type KeyObject, randomBytes, sign } from 'node:crypto'
import { bits, explicit, integer, octets, oid, sequence, set, text, time, yes, element } from './der.ts'

/** Who signs a certificate. */
export interface Issuer {
  readonly name: string
  readonly privateKey: KeyObject
}

export interface CertificateWish {
  readonly subject: string
  readonly publicKey: KeyObject
  readonly issuer: Issuer
  readonly digest: 'sha256' | 'sha384'
  readonly notBefore: number
  readonly notAfter: number
  /** Whether it may issue others. */
  readonly authority: boolean
  /** By OID; the value is DER. None of them critical. */
  readonly extensions?: Readonly<Record<string, Uint8Array>>
}

const ECDSA_WITH = { sha256: '1.2.840.10045.4.3.2', sha384: '1.2.840.10045.4.3.3' } as const
const SERIAL_BYTES = 15
/** Signing certificates and revocation lists, or what App Attest keys may do. */
const KEY_USAGE = { authority: bits(Buffer.of(0x06), 1), key: bits(Buffer.of(0xf0), 4) } as const

/** An X.509 certificate, version 3, signed with ECDSA. */
export function mintCertificate(wish: CertificateWish): Buffer {
  const algorithm = sequence(oid(ECDSA_WITH[wish.digest]))
  const body = sequence(
    explicit(0, integer(2)),
    // The first bit must not be set, or the number would be negative.
    element(0x02, Buffer.concat([Buffer.of(0x01), randomBytes(SERIAL_BYTES)])),
    algorithm,
    nameOf(wish.issuer.name),
    sequence(time(wish.notBefore), time(wish.notAfter)),
    nameOf(wish.subject),
    wish.publicKey.export({ format: 'der', type: 'spki' }),
    explicit(
      3,
      sequence(
        sequence(oid('2.5.29.19'), yes(), octets(wish.authority ? sequence(yes()) : sequence())),
        sequence(oid('2.5.29.15'), yes(), octets(wish.authority ? KEY_USAGE.authority : KEY_USAGE.key)),
        ...Object.entries(wish.extensions ?? {}).map(([id, value]) => sequence(oid(id), octets(value))),
      ),
    ),
  )
  return sequence(body, algorithm, bits(sign(wish.digest, body, wish.issuer.privateKey)))
}

/** A certificate as text. */
export function pemOf(certificate: Uint8Array): string {
  const lines =
    Buffer.from(certificate)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(oid('2.5.4.3'), text(commonName))))
}
