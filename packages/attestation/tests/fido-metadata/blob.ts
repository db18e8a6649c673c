import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { authority, certify, type Name, notAuthority } from '@bonded/simulator'

const DATES = {
  notBefore: new Date('2020-01-01T00:00:00Z'),
  notAfter: new Date('2049-12-31T23:59:59Z'),
}
const ROOT: Name = [['commonName', 'Test root for FIDO metadata']]
const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** What signs a list. */
export interface BlobSigner {
  readonly root: Buffer
  readonly certificate: Buffer
  readonly key: KeyObject
}

/** A root, and a signer below it with this common name. */
export function createBlobSigner(commonName = 'mds.fidoalliance.org'): BlobSigner {
  const [rootKey, key] = [newKey(), newKey()]
  const common = { issuer: ROOT, issuerKey: rootKey, ...DATES }
  return {
    key,
    root: certify({
      ...common,
      serial: 1n,
      subject: ROOT,
      publicKey: rootKey,
      extensions: [authority()],
    }),
    certificate: certify({
      ...common,
      serial: 2n,
      subject: [['commonName', commonName]],
      publicKey: key,
      extensions: [notAuthority],
    }),
  }
}

/** Signs a list as the FIDO Alliance does. */
export function blobOf(
  payload: unknown,
  { certificate, key }: BlobSigner,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const x5c = [certificate.toString('base64')]
  const signed = `${part({ alg: 'ES256', typ: 'JWT', x5c, ...header })}.${part(payload)}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/** An entry of the list. */
export function entryOf(
  aaguid: string,
  { roots = [], statuses = ['FIDO_CERTIFIED'] }: { roots?: Buffer[]; statuses?: unknown[] } = {},
) {
  return {
    aaguid,
    metadataStatement: {
      description: 'Model',
      attestationRootCertificates: roots.map((root) => root.toString('base64')),
    },
    statusReports: statuses.map((status) => ({ status, effectiveDate: '2026-01-01' })),
  }
}
