import type { AttestationRoot } from '../webauthn/certificate-path.ts'
import { type Certificate, readCertificate } from '../x509/certificate.ts'
import { isAuthority } from '../x509/issuance.ts'
import type { FidoMetadata } from './read-metadata.ts'

/** A model of authenticators. */
export interface FidoEntry {
  /** The model, as 32 characters of lower-case hex. */
  readonly aaguid: string
  readonly description: string
  /** Roots of the model's attestation keys. A key that is listed by itself is not among them. */
  readonly roots: readonly Certificate[]
  /** Every status that was ever reported, such as `FIDO_CERTIFIED_L1` or `REVOKED`. */
  readonly statuses: readonly string[]
}

/**
 * The statuses after which an attestation of the model proves nothing (Metadata Service 3.0,
 * section 3.1.4).
 */
export const FIDO_COMPROMISED: readonly string[] = [
  'ATTESTATION_KEY_COMPROMISE',
  'REVOKED',
  'USER_KEY_PHYSICAL_COMPROMISE',
  'USER_KEY_REMOTE_COMPROMISE',
  'USER_VERIFICATION_BYPASS',
]

/** Reads an entry of the list. Undefined for one of another form, or without any readable root. */
export function readEntry(entry: unknown): FidoEntry | undefined {
  const { aaguid, metadataStatement, statusReports } = membersOf(entry)
  const { description, attestationRootCertificates } = membersOf(metadataStatement)
  const id = typeof aaguid === 'string' ? aaguid.replaceAll('-', '').toLowerCase() : ''
  const reports = listOf(statusReports)?.map((report) => membersOf(report).status)
  const listed = listOf(attestationRootCertificates)
  if (!/^[0-9a-f]{32}$/.test(id) || reports === undefined || listed === undefined) return undefined
  const statuses = reports.filter((status) => typeof status === 'string')
  // An unreadable status could be one that revokes the model.
  if (statuses.length !== reports.length) return undefined
  const roots = listed.flatMap((one) =>
    typeof one === 'string' ? (readCertificate(Buffer.from(one, 'base64')) ?? []) : [],
  )
  return {
    aaguid: id,
    description: typeof description === 'string' ? description : '',
    roots: roots.filter(isAuthority),
    statuses,
  }
}

/**
 * Returns the roots for `packed` statements of these models, each only for the models that list it.
 *
 * @param accepts which models to trust. By default those without a status of `FIDO_COMPROMISED`
 *
 * @example
 * import { packedRoots, readFidoMetadata } from '@bonded/attestation/fido-metadata'
 * import { webAuthnSample as sample } from '@bonded/attestation/samples'
 * import { attestationRoots } from '@bonded/attestation/webauthn'
 *
 * const roots = attestationRoots([sample.fidoMetadataTestRoot], 'sandbox')
 * const metadata = readFidoMetadata(sample.fidoMetadata, { now: sample.now, roots })
 * const isCertified = ({ statuses }) => statuses.includes('FIDO_CERTIFIED')
 * console.log(packedRoots(metadata.value, isCertified).length) // 1
 */
export function packedRoots(
  { entries }: FidoMetadata,
  accepts: (entry: FidoEntry) => boolean = isUncompromised,
): AttestationRoot[] {
  const models = new Map<string, { certificate: Certificate; aaguids: Set<string> }>()
  for (const { aaguid, roots } of entries.filter(accepts))
    for (const certificate of roots) {
      const encoded = certificate.encoded.toString('base64')
      const known = models.get(encoded) ?? { certificate, aaguids: new Set() }
      models.set(encoded, { certificate, aaguids: known.aaguids.add(aaguid) })
    }
  return [...models.values()].map((root) => ({ ...root, environment: 'production' }))
}

function isUncompromised({ statuses }: FidoEntry): boolean {
  return !statuses.some((status) => FIDO_COMPROMISED.includes(status))
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}
