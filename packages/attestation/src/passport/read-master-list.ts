import { requireBytes, requireInstant } from '../arguments.ts'
import type { Instant } from '../environment.ts'
import { readTlv, unlessMalformed } from '../asn1/tlv.ts'
import { readSequence, readSetOf, readSmall } from '../asn1/values.ts'
import { bufferOf } from '../bytes.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { type Certificate, isValidAt } from '../x509/certificate.ts'
import { purposesOf } from '../x509/extensions.ts'
import {
  hasUnsupportedCriticalExtension,
  maySign,
  readStateCertificate,
  verifyIssuedBy,
} from './state-certificate.ts'
import {
  coversContent,
  readSignedDocument,
  signerCandidates,
  signingTime,
  verifySignedWith,
} from './signed-document.ts'
import { findSigned } from './signature.ts'
import { CountryTrust } from './country-trust.ts'

/** The check that failed. */
export type MasterListStep =
  | 'signed_data'
  | 'content_type'
  | 'message_digest'
  | 'signature'
  | 'algorithm_unsupported'
  | 'signer_usage'
  | 'signer_unknown'
  | 'signer_validity'
  | 'content'

const MASTER_LIST = '2.23.136.1.1.2'
/** The extended key usage of master list signers. */
const MASTER_LIST_SIGNING = '2.23.136.1.1.3'

export interface MasterList {
  readonly certificates: readonly Certificate[]
  /** How many entries could not be read. */
  readonly unreadable: number
}

/**
 * Reads a CSCA master list (Doc 9303-12, section 9) whose signer one of the roots has certified.
 *
 * @param roots country signing certificates from `readStateCertificate`, obtained in a trusted way
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 *
 * @example
 * import { readMasterList, readStateCertificate } from '@bonded/attestation/passport'
 * import { passportSample as sample } from '@bonded/attestation/samples'
 *
 * const roots = [readStateCertificate(sample.countryCertificate)]
 * const list = readMasterList(sample.masterList, { roots, now: sample.now })
 * console.log(list.ok && list.value.certificates.length) // 1
 */
export function readMasterList(
  bytes: Uint8Array,
  { roots, now }: { roots: readonly Certificate[]; now: Instant },
): Result<MasterList, 'master_list_invalid', MasterListStep> {
  requireBytes({ bytes })
  requireInstant(now)
  const fail = rejectWith('master_list_invalid')
  // 1. It is CMS SignedData.
  const list = readSignedDocument(bufferOf(bytes))
  if (list === undefined) return fail('signed_data')
  // 2. It is a master list.
  if (list.contentType !== MASTER_LIST) return fail('content_type')
  // 3. The signed attributes are about this content.
  if (!coversContent(list)) return fail('message_digest')
  // 4. The key of an included certificate signed them.
  const signer = findSigned(signerCandidates(list), (candidate) =>
    verifySignedWith(list, candidate),
  )
  if (signer === 'unsupported') return fail('algorithm_unsupported')
  if (signer === 'not_signed') return fail('signature')
  // 5. That certificate is for signing master lists.
  if (
    !maySign(signer) ||
    hasUnsupportedCriticalExtension(signer) ||
    purposesOf(signer)?.includes(MASTER_LIST_SIGNING) !== true
  )
    return fail('signer_usage')
  // 6. A trusted root issued it.
  const root = findSigned(new CountryTrust(roots).issuersOf(signer), (candidate) =>
    verifyIssuedBy(signer, candidate),
  )
  if (root === 'unsupported') return fail('algorithm_unsupported')
  if (root === 'not_signed') return fail('signer_unknown')
  // 7. Both were valid: the signer when it signed, its issuer when it issued.
  if (!isValidAt(signer, signingTime(list) ?? now) || !isValidAt(root, signer.notBefore))
    return fail('signer_validity')
  // 8. The list itself. One state's malformed certificate must not exclude the others.
  const entries = unlessMalformed(() => entriesOf(list.content)) ?? []
  const certificates = entries.flatMap((entry) => readStateCertificate(entry) ?? [])
  return certificates.length === 0
    ? fail('content')
    : accept({ certificates, unreadable: entries.length - certificates.length })
}

function entriesOf(content: Buffer): readonly Buffer[] {
  const [version, entries] = readSequence(readTlv(content, 'ber'))
  readSmall(version)
  return readSetOf(entries).map(({ whole }) => whole)
}
