import { hash, X509Certificate } from 'node:crypto'
import { accept, rejectWith, type Result } from '../result.ts'
import type { Instant } from '../environment.ts'
import { type Certificate, isValidAt, readCertificate } from '../x509/certificate.ts'
import { EXTENSION, hasUnknownCriticalExtension } from '../x509/extensions.ts'
import {
  type IssuanceFault,
  isSelfIssued,
  issuanceFault,
  signatureFault,
} from '../x509/issuance.ts'
import { ATTRIBUTE } from '../x509/name.ts'
import { GOOGLE_ROOT_CERTIFICATES } from './google-roots.ts'
import { KEY_DESCRIPTION } from './key-description.ts'

/** A verified chain. */
export interface AndroidChain {
  /** Leaf first, root last, also where the phone left the root out. */
  readonly certificates: readonly Certificate[]
  readonly leaf: Certificate
  /** The value of the leaf's key description extension. */
  readonly keyDescription: Uint8Array
  /** SHA-256 of the root's public key (SPKI, DER), lower-case hex. */
  readonly root: string
}

/** Leaf, attestation key and root. A remotely provisioned chain has two more, perhaps no root. */
const MIN_CERTIFICATES = 3
export const MAX_CERTIFICATES = 7

const PROVISIONING_INFO = '1.3.6.1.4.1.11129.2.1.30'
/** Critical extensions that this verifier processes. It rejects every other one. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  EXTENSION.keyUsage,
  EXTENSION.basicConstraints,
  KEY_DESCRIPTION,
  PROVISIONING_INFO,
])

/** The check that failed. */
export type AndroidChainStep =
  | 'chain_length'
  | 'certificate'
  | 'self_issued'
  | 'root'
  | 'key_description_missing'
  | 'key_description_elsewhere'
  | 'critical_extension'
  | 'validity'
  | IssuanceFault

/**
 * Verifies a chain of the Android keystore, as `KeyStore.getCertificateChain` returns it, with or
 * without Google's root.
 *
 * @param roots SHA-256 of each trusted root's public key (SPKI, DER), lower-case hex
 */
export function verifyAndroidChain(
  encoded: readonly Uint8Array[],
  { roots, now }: { roots: ReadonlySet<string>; now: Instant },
): Result<AndroidChain, 'attestation_invalid', AndroidChainStep> {
  const fail = rejectWith('attestation_invalid')
  // 1. Three to seven certificates with the root, each in strict DER.
  if (encoded.length > MAX_CERTIFICATES) return fail('chain_length')
  const certificates: Certificate[] = []
  for (const one of encoded) {
    const certificate = readCertificate(one)
    if (certificate === undefined) return fail('certificate')
    certificates.push(certificate)
  }
  certificates.push(...missingRoot(certificates))
  if (certificates.length < MIN_CERTIFICATES || certificates.length > MAX_CERTIFICATES)
    return fail('chain_length')
  const [leaf] = certificates
  const root = certificates.at(-1)
  const intermediate = certificates.at(-2)
  if (leaf === undefined || root === undefined || intermediate === undefined)
    return fail('chain_length')

  // 2. The last certificate, and only the last, is self-issued. It is trusted by its key: old
  //    phones carry an older certificate of the same root key.
  const selfIssued = certificates.findIndex(isSelfIssued)
  if (selfIssued === -1) return fail('root')
  if (selfIssued !== certificates.length - 1) return fail('self_issued')
  const rootKey = hash('sha256', root.publicKey, 'hex')
  if (!roots.has(rootKey)) return fail('root')

  // 3. Only the leaf has a key description. An attacker who extends a genuine chain with another
  //    key has two of them, or none on the leaf.
  const keyDescription = leaf.extensions.get(KEY_DESCRIPTION)?.value
  if (keyDescription === undefined) return fail('key_description_missing')
  if (certificates.slice(1).some(({ extensions }) => extensions.has(KEY_DESCRIPTION)))
    return fail('key_description_elsewhere')
  if (certificates.some((one) => hasUnknownCriticalExtension(one, UNDERSTOOD)))
    return fail('critical_extension')

  // 4. Validity. The phone's clock writes the dates of the leaf, and the root is trusted by its
  //    key. Factory certificates outlive their dates; remotely provisioned ones are valid for
  //    weeks, and their end counts.
  const fromFactory = isFactoryProvisioned(intermediate)
  if (
    certificates
      .slice(1, -1)
      .some((one) => (fromFactory ? one.notBefore > now : !isValidAt(one, now)))
  )
    return fail('validity')

  // 5. Every name, every right to issue and every signature, including the root's own. Some factory
  //    attestation keys have CA:FALSE (Sony, 2016) and sign leaves nevertheless; step 3 finds a
  //    leaf in their place.
  for (const [index, certificate] of certificates.entries()) {
    const issuer = certificates[index + 1] ?? root
    const isAttestationKey =
      index === 0 && fromFactory && issuer.subject.attributes.has(ATTRIBUTE.serialNumber)
    const authoritiesBelow = Math.min(index, certificates.length - 2)
    const fault = isAttestationKey
      ? signatureFault(certificate, issuer)
      : issuanceFault(certificate, { issuer, authoritiesBelow })
    if (fault !== undefined) return fail(fault)
  }
  return accept({ certificates, leaf, keyDescription, root: rootKey })
}

const googleRoots: readonly Certificate[] = GOOGLE_ROOT_CERTIFICATES.flatMap(
  (pem) => readCertificate(new X509Certificate(pem).raw) ?? [],
)

/**
 * Returns Google's root for a chain that ends below it, and nothing for any other chain. Whether
 * the root is trusted and has signed the chain is checked like that of a complete chain.
 */
function missingRoot(certificates: readonly Certificate[]): readonly Certificate[] {
  const last = certificates.at(-1)
  if (last === undefined || isSelfIssued(last)) return []
  return googleRoots.filter(({ subject }) => subject.encoded.equals(last.issuer.encoded))
}

/**
 * Factory certificates name their authority by a serial number. Remotely provisioned ones come from
 * "Droid CA2" of "Google LLC". The dates of any other certificate count.
 */
function isFactoryProvisioned({ subject: { attributes } }: Certificate): boolean {
  const remote =
    attributes.get(ATTRIBUTE.organization) === 'Google LLC' &&
    (attributes.get(ATTRIBUTE.commonName) ?? '').startsWith('Droid CA')
  return !remote && attributes.has(ATTRIBUTE.serialNumber)
}
