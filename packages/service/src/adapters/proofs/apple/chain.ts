import { hash, type KeyObject, X509Certificate } from 'node:crypto'
import type { Device } from '../../../domain/session.ts'
import { schemeOf } from '../x509/algorithm.ts'
import { type Certificate, isValidAt, readCertificate } from '../x509/certificate.ts'
import { EXTENSION, hasForeignCriticalExtension } from '../x509/extensions.ts'
import { isSignedBy } from '../x509/links.ts'

/** A root that registrations may chain to. What chains to a `sandbox` one never serves a production tenant. */
export interface TrustAnchor {
  readonly x509: X509Certificate
  readonly environment: Device['environment']
}

/** @param pem from configuration or from this program; an unreadable one stops the start. */
export function trustAnchor(pem: string, environment: Device['environment']): TrustAnchor {
  return { x509: new X509Certificate(pem), environment }
}

export interface VerifiedChain {
  readonly leaf: AppleCertificate
  readonly anchor: TrustAnchor
}

/** A certificate as Apple writes them, read twice: OpenSSL judges who may have issued it, by names, key ids, constraints and usage. */
export interface AppleCertificate extends Certificate {
  readonly x509: X509Certificate
  readonly key: KeyObject
}

const UNDERSTOOD: ReadonlySet<string> = new Set([EXTENSION.basicConstraints, EXTENSION.keyUsage])

/** Undefined for what is not version 3, signed with ECDSA without parameters: Apple writes no other. */
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

/** A leaf, the one authority that issued it, and a pinned root: by position, never by what a certificate calls itself. */
export function verifyChain(
  [leafDer, issuerDer]: readonly [Buffer, Buffer],
  { anchors, now }: { anchors: readonly TrustAnchor[]; now: number },
): VerifiedChain | undefined {
  const leaf = readAppleCertificate(leafDer)
  const issuer = readAppleCertificate(issuerDer)
  if (leaf === undefined || issuer === undefined || leaf.x509.ca || !issuer.x509.ca)
    return undefined
  if (
    [leaf, issuer].some(
      (one) => !isValidAt(one, now) || hasForeignCriticalExtension(one, UNDERSTOOD),
    )
  )
    return undefined
  // Also holds the issuer to its key usage.
  if (!leaf.x509.checkIssued(issuer.x509)) return undefined
  const anchor = anchorOf(issuer, { anchors, now })
  // The issuer first: only Apple can make the service go on to the leaf.
  return anchor !== undefined && isSignedBy(leaf, issuer.key) ? { leaf, anchor } : undefined
}

/** Issuers known to be signed by a root. Nobody but its owner can add one, so they stay few; dates are judged every time. */
const known = new WeakMap<TrustAnchor, Set<string>>()

function anchorOf(
  issuer: AppleCertificate,
  { anchors, now }: { anchors: readonly TrustAnchor[]; now: number },
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
