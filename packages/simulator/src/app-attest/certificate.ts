import type { KeyObject } from 'node:crypto'
import {
  authority,
  certify,
  keyUsage,
  newSerial,
  notAuthority,
  SIGNS_CERTIFICATES,
} from '../test-pki/certificate.ts'

/** The issuer of a certificate. */
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
  /** Whether it may issue certificates. */
  readonly authority: boolean
  /** DER values by object identifier. All are non-critical. */
  readonly extensions?: Readonly<Record<string, Uint8Array>>
}

/** The key usage of App Attest keys. */
const KEY_USAGE = keyUsage(0xf0, 4)

/** Creates a certificate of the form that Apple uses. */
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
