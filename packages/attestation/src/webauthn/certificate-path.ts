import { accept, rejectWith, type Result } from '../result.ts'
import type { Environment, Instant } from '../environment.ts'
import { type Certificate, isValidAt, readCertificate } from '../x509/certificate.ts'
import { EXTENSION, hasUnknownCriticalExtension } from '../x509/extensions.ts'
import { type IssuanceFault, issuanceFault } from '../x509/issuance.ts'

/** A root that may attest authenticators. */
export interface AttestationRoot {
  readonly certificate: Certificate
  /** `sandbox` for a test root. */
  readonly environment: Environment
  /** The models, as lower-case hex, that it may attest. Absent: every model. */
  readonly aaguids?: ReadonlySet<string>
}

/** An attestation key, an authority or two, and perhaps the root. */
const MAX_CERTIFICATES = 5
const UNDERSTOOD: ReadonlySet<string> = new Set([EXTENSION.keyUsage, EXTENSION.basicConstraints])

/** The check that failed. */
export type CertificatePathStep =
  | 'chain_length'
  | 'certificate'
  | 'validity'
  | 'critical_extension'
  | 'root'
  | IssuanceFault

/** Verifies an `x5c` up to one of the roots, which it may or may not include. */
export function verifyCertificatePath(
  x5c: readonly Uint8Array[],
  { roots, now }: { roots: readonly AttestationRoot[]; now: Instant },
): Result<
  { readonly leaf: Certificate; readonly environment: Environment },
  'attestation_invalid',
  CertificatePathStep
> {
  const fail = rejectWith('attestation_invalid')
  if (x5c.length > MAX_CERTIFICATES) return fail('chain_length')
  const path: Certificate[] = []
  for (const one of x5c) {
    const certificate = readCertificate(one)
    if (certificate === undefined) return fail('certificate')
    path.push(certificate)
  }
  const included = roots.find(
    ({ certificate }) => path.at(-1)?.encoded.equals(certificate.encoded) === true,
  )
  if (included !== undefined) path.pop()
  const [leaf, ...authorities] = path
  if (leaf === undefined) return fail('chain_length')
  if (path.some((certificate) => !isValidAt(certificate, now))) return fail('validity')
  if (path.some((certificate) => hasUnknownCriticalExtension(certificate, UNDERSTOOD)))
    return fail('critical_extension')
  let last = leaf
  for (const [authoritiesBelow, issuer] of authorities.entries()) {
    const fault = issuanceFault(last, { issuer, authoritiesBelow })
    if (fault !== undefined) return fail(fault)
    last = issuer
  }
  for (const { certificate, environment } of included === undefined ? roots : [included]) {
    const authoritiesBelow = authorities.length
    if (
      isValidAt(certificate, now) &&
      issuanceFault(last, { issuer: certificate, authoritiesBelow }) === undefined
    )
      return accept({ leaf, environment })
  }
  return fail('root')
}
