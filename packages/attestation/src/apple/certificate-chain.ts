import { hash, type KeyObject, X509Certificate } from 'node:crypto'
import type { Environment, Instant } from '../environment.ts'
import { schemeOf } from '../x509/algorithm.ts'
import { type Certificate, isValidAt, readCertificate } from '../x509/certificate.ts'
import { EXTENSION, hasUnknownCriticalExtension } from '../x509/extensions.ts'
import { isSignedBy } from '../x509/issuance.ts'

/** A root that certificates may chain to. */
export interface TrustAnchor {
  readonly x509: X509Certificate
  readonly environment: Environment
}

/**
 * A trust anchor from PEM.
 *
 * @throws where the text is not a certificate: a misconfigured root must not be passed over
 *
 * @example
 * import { APPLE_ROOT_G3, trustAnchor } from '@bonded/attestation/apple'
 *
 * console.log(trustAnchor(APPLE_ROOT_G3, 'production').environment) // production
 */
export function trustAnchor(pem: string, environment: Environment): TrustAnchor {
  return { x509: new X509Certificate(pem), environment }
}

export interface VerifiedChain {
  readonly leaf: AppleCertificate
  readonly anchor: TrustAnchor
}

/**
 * A certificate as Apple writes them. It is read twice: OpenSSL checks who may have issued it, by
 * names, key ids, constraints and usage.
 */
export interface AppleCertificate extends Certificate {
  readonly x509: X509Certificate
  readonly key: KeyObject
}

const UNDERSTOOD: ReadonlySet<string> = new Set([EXTENSION.basicConstraints, EXTENSION.keyUsage])

/** Undefined for a certificate that is not version 3, signed with ECDSA without parameters. */
export function readAppleCertificate(der: Uint8Array): AppleCertificate | undefined {
  const certificate = readCertificate(der)
  if (certificate?.version !== 3) return undefined
  const { algorithm } = certificate.signed
  if (algorithm.parameters !== undefined || schemeOf(algorithm)?.scheme !== 'ecdsa')
    return undefined
  try {
    const x509 = new X509Certificate(der)
    return { ...certificate, x509, key: x509.publicKey }
  } catch {
    return undefined
  }
}

/**
 * Verifies a leaf, its issuer and one of the roots. Their roles follow from their position, never
 * from what a certificate claims to be.
 */
export function verifyAppleChain(
  [leafDer, issuerDer]: readonly [Buffer, Buffer],
  { anchors, now }: { anchors: readonly TrustAnchor[]; now: Instant },
): VerifiedChain | undefined {
  const leaf = readAppleCertificate(leafDer)
  const issuer = readAppleCertificate(issuerDer)
  if (leaf === undefined || issuer === undefined || leaf.x509.ca || !issuer.x509.ca)
    return undefined
  if (
    [leaf, issuer].some(
      (one) => !isValidAt(one, now) || hasUnknownCriticalExtension(one, UNDERSTOOD),
    )
  )
    return undefined
  // OpenSSL also checks the key usage of the issuer.
  if (!leaf.x509.checkIssued(issuer.x509)) return undefined
  const anchor = anchorOf(issuer, { anchors, now })
  // The issuer first: then only Apple's chains cost a second signature verification.
  return anchor !== undefined && isSignedBy(leaf, issuer.key) ? { leaf, anchor } : undefined
}

/**
 * Issuers known to be signed by a root. Only the owner of the root can add one, so the sets stay
 * small. Dates are checked every time.
 */
const known = new WeakMap<TrustAnchor, Set<string>>()

function anchorOf(
  issuer: AppleCertificate,
  { anchors, now }: { anchors: readonly TrustAnchor[]; now: Instant },
): TrustAnchor | undefined {
  const fingerprint = hash('sha256', issuer.x509.raw)
  for (const anchor of anchors) {
    const { x509 } = anchor
    if (
      now < x509.validFromDate.getTime() ||
      x509.validToDate.getTime() < now ||
      !issuer.x509.checkIssued(x509)
    )
      continue
    if (known.get(anchor)?.has(fingerprint)) return anchor
    if (isSignedBy(issuer, x509.publicKey)) {
      known.set(anchor, (known.get(anchor) ?? new Set()).add(fingerprint))
      return anchor
    }
  }
  return undefined
}
