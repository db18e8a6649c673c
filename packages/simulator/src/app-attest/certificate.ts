import type { KeyObject } from 'node:crypto'
import {
  authority,
  certify,
  keyUsage,
  newSerial,
  notAuthority,
  SIGNS_CERTIFICATES,
} from '../test-pki/certificate.ts'

/** Who signs a certificate. */
export interface Issuer {
  readonly name: string
  readonly privateKey: KeyObject
}

export interface CertificateOptions {
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

/** What App Attest keys may do. */
const KEY_USAGE = keyUsage(0xf0, 4)

/** A certificate as Apple's are. */
export function createCertificate({
  subject,
  issuer,
  authority: mayIssue,
  extensions = {},
  ...options
}: CertificateOptions): Buffer {
  return certify({
    ...options,
    serial: newSerial(),
    subject: [['commonName', subject]],
    issuer: [['commonName', issuer.name]],
    issuerKey: issuer.privateKey,
    extensions: [
      ...(mayIssue ? [authority(), SIGNS_CERTIFICATES] : [notAuthority, KEY_USAGE]),
      ...Object.entries(extensions).map(([id, value]) => ({ id, value })),
    ],
  })
}
