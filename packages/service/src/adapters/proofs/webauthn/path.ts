import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import type { Device, Instant } from '../../../domain/session.ts'
import { type Certificate, isValidAt, readCertificate } from '../x509/certificate.ts'
import { EXTENSION, hasForeignCriticalExtension } from '../x509/extensions.ts'
import { brokenLink } from '../x509/links.ts'

/** A root that may vouch for authenticators. */
export interface AttestationRoot {
  readonly certificate: Certificate
  /** `sandbox` for a test root. */
  readonly environment: Device['environment']
}

/** An attestation key, an authority or two, and perhaps the root. */
const MAX_CERTIFICATES = 5
const UNDERSTOOD: ReadonlySet<string> = new Set([EXTENSION.keyUsage, EXTENSION.basicConstraints])

/**
 * Verifies an `x5c` to one of the roots, which it may or may not include. Not left to the library: that one reads the
 * machine's clock, keeps its roots for the whole process, takes any chain where it has none, and fetches what a
 * stranger's certificate names as its revocation list.
 */
export function verifyPath(
  x5c: readonly Uint8Array[],
  { roots, now }: { roots: readonly AttestationRoot[]; now: Instant },
): Result<{ leaf: Certificate; environment: Device['environment'] }> {
  const no = (step: string) => refuse('attestation_invalid', { step })
  if (x5c.length > MAX_CERTIFICATES) return no('chain_length')
  const path: Certificate[] = []
  for (const one of x5c) {
    const certificate = readCertificate(one)
    if (certificate === undefined) return no('certificate')
    path.push(certificate)
  }
  const included = roots.find(
    ({ certificate }) => path.at(-1)?.encoded.equals(certificate.encoded) === true,
  )
  if (included !== undefined) path.pop()
  const [leaf, ...authorities] = path
  if (leaf === undefined) return no('chain_length')
  if (path.some((certificate) => !isValidAt(certificate, now))) return no('validity')
  if (path.some((certificate) => hasForeignCriticalExtension(certificate, UNDERSTOOD)))
    return no('critical_extension')
  let last = leaf
  for (const [authoritiesBelow, issuer] of authorities.entries()) {
    const broken = brokenLink(last, issuer, authoritiesBelow)
    if (broken !== undefined) return no(broken)
    last = issuer
  }
  for (const { certificate, environment } of included === undefined ? roots : [included]) {
    if (
      isValidAt(certificate, now) &&
      brokenLink(last, certificate, authorities.length) === undefined
    )
      return accept({ leaf, environment })
  }
  return no('root')
}
