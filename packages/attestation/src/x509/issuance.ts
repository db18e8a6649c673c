import type { KeyObject } from 'node:crypto'
import { schemeOf } from './algorithm.ts'
import type { Certificate } from './certificate.ts'
import { keyUsageOf, pathLengthOf, USAGE } from './extensions.ts'
import { isSignatureOf, readPublicKey } from './public-key.ts'

/** The reason why a certificate is not accepted as issued by another one. */
export type IssuanceFault =
  | 'issuer_name'
  | 'issuer_not_ca'
  | 'path_length'
  | 'issuer_key'
  | 'signature'

/**
 * Checks that the issuer may issue the certificate and that it signed it. Undefined if both hold.
 *
 * @param authoritiesBelow the number of authorities between the issuer and the leaf of the chain
 */
export function issuanceFault(
  certificate: Certificate,
  { issuer, authoritiesBelow }: { issuer: Certificate; authoritiesBelow: number },
): IssuanceFault | undefined {
  const pathLength = isAuthority(issuer) ? pathLengthOf(issuer) : undefined
  if (pathLength === undefined) return 'issuer_not_ca'
  if (authoritiesBelow > pathLength) return 'path_length'
  return signatureFault(certificate, issuer)
}

/** Checks only that the issuer signed the certificate, not that it may. Undefined if it did. */
export function signatureFault(
  certificate: Certificate,
  issuer: Certificate,
): IssuanceFault | undefined {
  if (!certificate.issuer.encoded.equals(issuer.subject.encoded)) return 'issuer_name'
  const key = readPublicKey(issuer.publicKey)
  if (key === undefined) return 'issuer_key'
  return isSignedBy(certificate, key) ? undefined : 'signature'
}

/** Whether the basic constraints, and the key usage if present, allow it to issue certificates. */
export function isAuthority(certificate: Certificate): boolean {
  const usage = keyUsageOf(certificate) ?? USAGE.certificateSigning
  return pathLengthOf(certificate) !== undefined && (usage & USAGE.certificateSigning) !== 0
}

/** Whether issuer and subject have the same name. */
export function isSelfIssued({ issuer, subject }: Certificate): boolean {
  return issuer.encoded.equals(subject.encoded)
}

/**
 * The signature schemes of phone chains with their key types. SHA-1 is not accepted, and neither
 * are the schemes that only passports use.
 */
const KEY_TYPE = { pkcs1: 'rsa', ecdsa: 'ec', 'ecdsa-plain': null } as const
const DIGESTS: readonly string[] = ['sha256', 'sha384', 'sha512']

/** Whether the key signed the certificate. */
export function isSignedBy(
  { signed: { message, algorithm, signature } }: Certificate,
  key: KeyObject,
): boolean {
  const known = schemeOf(algorithm)
  if (
    known === undefined ||
    KEY_TYPE[known.scheme] !== key.asymmetricKeyType ||
    !DIGESTS.includes(known.digest)
  )
    return false
  return isSignatureOf({ message, digest: known.digest, signature, key })
}
