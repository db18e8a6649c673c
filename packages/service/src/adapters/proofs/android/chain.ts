import { hash } from 'node:crypto'
import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import type { Instant } from '../../../domain/session.ts'
import { type Certificate, isValidAt, readCertificate } from '../x509/certificate.ts'
import { EXTENSION, hasForeignCriticalExtension } from '../x509/extensions.ts'
import { brokenLink, brokenSignature, isSelfIssued } from '../x509/links.ts'
import { ATTRIBUTE } from '../x509/name.ts'
import { KEY_DESCRIPTION } from './key-description.ts'

/** A chain that leads to a root named by the configuration. */
export interface AndroidChain {
  /** Leaf first, root last. */
  readonly certificates: readonly Certificate[]
  readonly leaf: Certificate
  /** The value of the leaf's key description extension. */
  readonly keyDescription: Uint8Array
  /** SHA-256 of the root's public key (SPKI, DER), lower-case hex. */
  readonly root: string
}

/** Leaf, attestation key and root; a remotely provisioned chain has two more. */
const MIN_CERTIFICATES = 3
export const MAX_CERTIFICATES = 7

const PROVISIONING_INFO = '1.3.6.1.4.1.11129.2.1.30'
/** What may be marked critical. Another one demands something that nobody here would do. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  EXTENSION.keyUsage,
  EXTENSION.basicConstraints,
  KEY_DESCRIPTION,
  PROVISIONING_INFO,
])

/**
 * Verifies a chain of the Android keystore, as `KeyStore.getCertificateChain` gives it. Every
 * refusal is `attestation_invalid` with the failing `step`.
 *
 * @param roots SHA-256 of each trusted root's public key (SPKI, DER), lower-case hex
 */
export function verifyChain(
  encoded: readonly Uint8Array[],
  { roots, now }: { roots: ReadonlySet<string>; now: Instant },
): Result<AndroidChain> {
  const no = (step: string) => refuse('attestation_invalid', { step })
  // 1. Three to seven certificates, each in strict DER.
  if (encoded.length < MIN_CERTIFICATES || encoded.length > MAX_CERTIFICATES)
    return no('chain_length')
  const certificates: Certificate[] = []
  for (const one of encoded) {
    const certificate = readCertificate(one)
    if (certificate === undefined) return no('certificate')
    certificates.push(certificate)
  }
  const [leaf] = certificates
  const root = certificates.at(-1)
  const intermediate = certificates.at(-2)
  if (leaf === undefined || root === undefined || intermediate === undefined)
    return no('chain_length')

  // 2. The last, and only the last, is self-issued. It is trusted for its key: old phones carry an older certificate of it.
  if (certificates.findIndex(isSelfIssued) !== certificates.length - 1) return no('self_issued')
  const rootKey = hash('sha256', root.publicKey, 'hex')
  if (!roots.has(rootKey)) return no('root')

  // 3. The key description stands on the leaf and nowhere else: whoever extends a genuine chain with a key of
  //    his own has it twice, or not on the leaf.
  const keyDescription = leaf.extensions.get(KEY_DESCRIPTION)?.value
  if (keyDescription === undefined) return no('key_description_missing')
  if (certificates.slice(1).some(({ extensions }) => extensions.has(KEY_DESCRIPTION)))
    return no('key_description_elsewhere')
  if (certificates.some((one) => hasForeignCriticalExtension(one, UNDERSTOOD)))
    return no('critical_extension')

  // 4. Validity. The leaf's dates are written by the phone's clock, the root is trusted for its key. Certificates
  //    put in at the factory outlive their dates; those provisioned remotely live for weeks, and their end counts.
  const fromFactory = isFactoryProvisioned(intermediate)
  if (
    certificates
      .slice(1, -1)
      .some((one) => (fromFactory ? one.notBefore > now : !isValidAt(one, now)))
  )
    return no('validity')

  // 5. Every name, every right to issue, every signature, the root's own included. Some makers' attestation keys were
  //    put in with CA:FALSE (Sony's of 2016): they sign leaves all the same, and a leaf in their place is found at 3.
  for (const [at, certificate] of certificates.entries()) {
    const issuer = certificates[at + 1] ?? root
    const isAttestationKey =
      at === 0 && fromFactory && issuer.subject.attributes.has(ATTRIBUTE.serialNumber)
    const broken = isAttestationKey
      ? brokenSignature(certificate, issuer)
      : brokenLink(certificate, issuer, Math.min(at, certificates.length - 2))
    if (broken !== undefined) return no(broken)
  }
  return accept({ certificates, leaf, keyDescription, root: rootKey })
}

/**
 * Certificates put in at the factory name their authority by a serial number. Those provisioned remotely come from
 * "Droid CA2" of "Google LLC". What is neither is held to its dates.
 */
function isFactoryProvisioned({ subject: { attributes } }: Certificate): boolean {
  const remote =
    attributes.get(ATTRIBUTE.organization) === 'Google LLC' &&
    (attributes.get(ATTRIBUTE.commonName) ?? '').startsWith('Droid CA')
  return !remote && attributes.has(ATTRIBUTE.serialNumber)
}
