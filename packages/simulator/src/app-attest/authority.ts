import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { explicit, octets, sequence } from '../test-pki/der.ts'
import { pemOf } from '../test-pki/certificate.ts'
import { newKey } from '../test-pki/key.ts'
import { createCertificate } from './certificate.ts'

/**
 * A test replacement for Apple: it certifies the keys of simulated phones. Plain data that can be
 * stored in a file.
 */
export interface AppAttestAuthority {
  /** PEM. Configure it as a test root of a sandbox. */
  readonly root: string
  /** PEM. */
  readonly issuer: string
  /** PKCS #8, PEM. The private key of the root is discarded after it signed the issuer. */
  readonly issuerKey: string
}

const DAY_MS = 86_400_000
const ROOT_DAYS = 3_650
/** The lifetime of Apple's leaf certificates in 2026. */
const LEAF_DAYS = 3
const ROOT_NAME = 'Simulated App Attestation Root CA'
const ISSUER_NAME = 'Simulated App Attestation CA 1'
const NONCE_EXTENSION = '1.2.840.113635.100.8.2'

/** Creates a root and an issuer, both P-384 like Apple's. */
export function createAppAttestAuthority(now: number): AppAttestAuthority {
  const [root, issuer] = [newKey('P-384'), newKey('P-384')]
  const common = {
    issuer: { name: ROOT_NAME, privateKey: root },
    digest: 'sha384',
    notBefore: now - DAY_MS,
    notAfter: now + ROOT_DAYS * DAY_MS,
    authority: true,
  } as const
  return {
    root: pemOf(createCertificate({ ...common, subject: ROOT_NAME, publicKey: root })),
    issuer: pemOf(createCertificate({ ...common, subject: ISSUER_NAME, publicKey: issuer })),
    issuerKey: String(issuer.export({ format: 'pem', type: 'pkcs8' })),
  }
}

/** Certifies a key for a nonce. Returns its certificate and the issuer's, DER. */
export function certifyKey(
  authority: AppAttestAuthority,
  key: { publicKey: KeyObject; keyId: Uint8Array; nonce: Uint8Array; now: number },
): Buffer[] {
  const leaf = createCertificate({
    subject: Buffer.from(key.keyId).toString('hex'),
    publicKey: key.publicKey,
    issuer: { name: ISSUER_NAME, privateKey: createPrivateKey(authority.issuerKey) },
    digest: 'sha256',
    notBefore: key.now - DAY_MS,
    notAfter: key.now + LEAF_DAYS * DAY_MS,
    authority: false,
    extensions: { [NONCE_EXTENSION]: sequence(explicit(1, octets(key.nonce))) },
  })
  return [leaf, new X509Certificate(authority.issuer).raw]
}
