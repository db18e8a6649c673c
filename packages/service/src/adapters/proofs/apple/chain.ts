import { hash, X509Certificate } from 'node:crypto'
import type { Device } from '../../../domain/session.ts'
import { oid } from '../der/oid.ts'
import { type Certificate, isSignedBy, isValidAt, readCertificate } from './certificate.ts'

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
  readonly leaf: Certificate
  readonly anchor: TrustAnchor
}

/** Basic constraints and key usage: the only critical extensions that are judged here, by OpenSSL. */
const JUDGED = [oid('2.5.29.19'), oid('2.5.29.15')].map((id) => id.toString('hex'))

/** A leaf, the one authority that issued it, and a pinned root: by position, never by what a certificate calls itself. */
export async function verifyChain(
  [leafDer, issuerDer]: readonly [Buffer, Buffer],
  { anchors, now }: { anchors: readonly TrustAnchor[]; now: number },
): Promise<VerifiedChain | undefined> {
  const leaf = readCertificate(leafDer)
  const issuer = readCertificate(issuerDer)
  if (leaf === undefined || issuer === undefined || leaf.x509.ca || !issuer.x509.ca) return undefined
  if (![leaf, issuer].every((one) => isValidAt(one, now) && criticalsAreJudged(one))) return undefined
  // Also holds the issuer to its key usage.
  if (!leaf.x509.checkIssued(issuer.x509)) return undefined
  const anchor = await anchorOf(issuer, { anchors, now })
  // The issuer first: only Apple can make the service go on to the leaf.
  return anchor !== undefined && (await isSignedBy(leaf, issuer.publicKey)) ? { leaf, anchor } : undefined
}

/** Issuers known to be signed by a root. Nobody but its owner can add one, so they stay few; dates are judged every time. */
const known = new WeakMap<TrustAnchor, Set<string>>()

async function anchorOf(issuer: Certificate, { anchors, now }: { anchors: readonly TrustAnchor[]; now: number }): Promise<TrustAnchor | undefined> {
  const fingerprint = hash('sha256', issuer.x509.raw)
  for (const anchor of anchors) {
    const { x509 } = anchor
    if (now < x509.validFromDate.getTime() || x509.validToDate.getTime() < now || !issuer.x509.checkIssued(x509)) continue
    if (known.get(anchor)?.has(fingerprint)) return anchor
    if (await isSignedBy(issuer, x509.publicKey)) {
      known.set(anchor, (known.get(anchor) ?? new Set()).add(fingerprint))
      return anchor
    }
  }
  return undefined
}

function criticalsAreJudged({ extensions }: Certificate): boolean {
  return [...extensions].every(([id, { critical }]) => !critical || JUDGED.includes(id))
}
