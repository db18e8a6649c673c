import { Buffer } from 'node:buffer'
import { sign } from 'node:crypto'
import type { CborValue } from '../test-pki/cbor.ts'
import {
  authority,
  type CertificateExtension,
  certify,
  type Name,
  notAuthority,
} from '../test-pki/certificate.ts'
import { octets } from '../test-pki/der.ts'
import { newKey } from '../test-pki/key.ts'
import type { Attestation } from './authenticator.ts'
import { ES256 } from './authenticator-data.ts'

const ROOT: Name = [['commonName', 'Bonded Sessions test root for authenticators']]
const MODEL: Name = [
  ['country', 'AA'],
  ['organization', 'Bonded Sessions'],
  ['unit', 'Authenticator Attestation'],
  ['commonName', 'Simulated authenticator'],
]
const AAGUID_EXTENSION = '1.3.6.1.4.1.45724.1.1.4'
const DATES = {
  notBefore: new Date('2020-01-01T00:00:00Z'),
  notAfter: new Date('2049-12-31T23:59:59Z'),
}

/** A vendor of authenticators under a test root. Only a sandbox may trust it. */
export interface AuthenticatorAuthority {
  /** DER. */
  readonly root: Buffer
  /** Attests in the format `packed`, with the chain of its attestation key. */
  readonly attestation: Attestation
}

/** Creates a root and an attestation key for one model. */
export function createAuthenticatorAuthority(
  aaguid: Uint8Array,
  tamper: { readonly subject?: Name } = {},
): AuthenticatorAuthority {
  const rootKey = newKey()
  const modelKey = newKey()
  const model: CertificateExtension = { id: AAGUID_EXTENSION, value: octets(aaguid) }
  const root = certify({
    serial: 1n,
    subject: ROOT,
    issuer: ROOT,
    publicKey: rootKey,
    issuerKey: rootKey,
    ...DATES,
    extensions: [authority()],
  })
  const certificate = certify({
    serial: 2n,
    subject: tamper.subject ?? MODEL,
    issuer: ROOT,
    publicKey: modelKey,
    issuerKey: rootKey,
    ...DATES,
    extensions: [notAuthority, model],
  })
  return {
    root,
    attestation: ({ authenticatorData, clientDataHash }) => [
      'packed',
      new Map<string, CborValue>([
        ['alg', ES256],
        ['sig', sign('sha256', Buffer.concat([authenticatorData, clientDataHash]), modelKey)],
        ['x5c', [certificate]],
      ]),
    ],
  }
}
