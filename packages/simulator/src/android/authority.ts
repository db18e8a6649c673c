import type { Buffer } from 'node:buffer'
import { hash, type KeyObject } from 'node:crypto'
import { authority, certify, type Name } from '../test-pki/certificate.ts'
import { newKey, publicHalf } from '../test-pki/key.ts'
import { encodeKeyDescription, type KeyDescriptionFields } from './description.ts'

/**
 * A test replacement for Google and the phone vendor: root, intermediate and attestation key. Its
 * private keys are not protected, so only a sandbox may trust the root.
 */
export interface AndroidAuthority {
  /** SHA-256 of the public key of the root (SPKI), lower-case hex. Configure it as a test root. */
  readonly rootKeyDigest: string
  /** The root's certificate, DER. */
  readonly root: Buffer
  /** The chain for a key with this description: leaf, attestation key, intermediate, root. */
  attest(publicKey: KeyObject, description: KeyDescriptionFields): Buffer[]
}

const ROOT: Name = [['commonName', 'Bonded Sessions test root for Android keys']]
/** Factory certificates are named by serial numbers. */
const INTERMEDIATE: Name = [
  ['serialNumber', '0123456789abcdef'],
  ['title', 'TEE'],
]
const ATTESTATION_KEY: Name = [
  ['serialNumber', 'fedcba9876543210'],
  ['title', 'TEE'],
]
const LEAF: Name = [['commonName', 'Android Keystore Key']]
const KEY_DESCRIPTION = '1.3.6.1.4.1.11129.2.1.17'

const FROM = new Date('2020-01-01T00:00:00Z')
const UNTIL = new Date('2049-12-31T23:59:59Z')

interface Issuer {
  readonly name: Name
  readonly key: KeyObject
}

/**
 * Creates an authority.
 *
 * @param rootKey a stored P-256 private key; by default a new one
 */
export function createAndroidAuthority(rootKey: KeyObject = newKey()): AndroidAuthority {
  const intermediateKey = newKey()
  const attestationKey = newKey()
  const dates = { notBefore: FROM, notAfter: UNTIL }
  const authorityOf = (serial: bigint, subject: Name, publicKey: KeyObject, by: Issuer) =>
    certify({
      serial,
      subject,
      publicKey,
      issuer: by.name,
      issuerKey: by.key,
      ...dates,
      extensions: [authority()],
    })
  const byRoot = { name: ROOT, key: rootKey }
  const root = authorityOf(1n, ROOT, rootKey, byRoot)
  const intermediate = authorityOf(2n, INTERMEDIATE, intermediateKey, byRoot)
  const attestation = authorityOf(3n, ATTESTATION_KEY, attestationKey, {
    name: INTERMEDIATE,
    key: intermediateKey,
  })
  return {
    root,
    rootKeyDigest: hash(
      'sha256',
      publicHalf(rootKey).export({ format: 'der', type: 'spki' }),
      'hex',
    ),
    attest(publicKey, description) {
      const extensions = [{ id: KEY_DESCRIPTION, value: encodeKeyDescription(description) }]
      // A real leaf has the serial 1 and dates of the phone's clock.
      const leaf = certify({
        serial: 1n,
        subject: LEAF,
        issuer: ATTESTATION_KEY,
        publicKey,
        issuerKey: attestationKey,
        ...dates,
        extensions,
      })
      return [leaf, attestation, intermediate, root]
    },
  }
}
