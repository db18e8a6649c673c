import type { KeyObject } from 'node:crypto'
import { schemeOf } from './algorithm.ts'
import type { Certificate } from './certificate.ts'
import { keyUsageOf, pathLengthOf, USAGE } from './extensions.ts'
import { isSignatureOf, readPublicKey } from './public-key.ts'

/** What is wrong with a link of a chain, in one word. */
export type BrokenLink =
  | 'issuer_name'
  | 'issuer_not_ca'
  | 'path_length'
  | 'issuer_key'
  | 'signature'

/**
 * Whether the issuer may have issued the certificate, and did. Undefined where the link holds.
 *
 * @param authoritiesBelow how many authorities stand between the issuer and the chain's leaf
 */
export function brokenLink(
  certificate: Certificate,
  issuer: Certificate,
  authoritiesBelow: number,
): BrokenLink | undefined {
  const pathLength = isAuthority(issuer) ? pathLengthOf(issuer) : undefined
  if (pathLength === undefined) return 'issuer_not_ca'
  if (authoritiesBelow > pathLength) return 'path_length'
  return brokenSignature(certificate, issuer)
}

/** Whether the issuer signed the certificate, whatever it was allowed to. Undefined where it did. */
export function brokenSignature(
  certificate: Certificate,
  issuer: Certificate,
): BrokenLink | undefined {
  if (!certificate.issuer.encoded.equals(issuer.subject.encoded)) return 'issuer_name'
  const key = readPublicKey(issuer.publicKey)
  if (key === undefined) return 'issuer_key'
  return isSignedBy(certificate, key) ? undefined : 'signature'
}

/** Whether it may issue others: by its constraints, and by its key usage where it has one. */
export function isAuthority(certificate: Certificate): boolean {
  const usage = keyUsageOf(certificate) ?? USAGE.certificateSigning
  return pathLengthOf(certificate) !== undefined && (usage & USAGE.certificateSigning) !== 0
}

/** Whether somebody signed it with the name it bears itself. */
export function isSelfIssued({ issuer, subject }: Certificate): boolean {
  return issuer.encoded.equals(subject.encoded)
}

/** What phones' chains are signed with, and the kind of key for it. SHA-1 is not among it, and neither is what only passports use. */
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
