import type { Instant } from '../../../domain/session.ts'
import { readElement, unlessMalformed } from '../der/element.ts'
import { readSequence, readSetOf, readSmall } from '../der/values.ts'
import { type Certificate, isValidAt } from '../x509/certificate.ts'
import { purposesOf } from '../x509/extensions.ts'
import { asksForMore, isIssuedBy, maySign, readStateCertificate } from './certificate.ts'
import {
  coversContent,
  isSignedWith,
  readSignedDocument,
  signerCandidates,
  signingTime,
} from './signed-document.ts'
import { type Checked, found, no } from './step.ts'
import { CountryTrust } from './trust.ts'

export type MasterListStep =
  | 'signed_data'
  | 'content_type'
  | 'message_digest'
  | 'signature'
  | 'signer_usage'
  | 'signer_unknown'
  | 'signer_validity'
  | 'content'

const MASTER_LIST = '2.23.136.1.1.2'
/** The purpose of whoever may sign master lists. */
const MASTER_LIST_SIGNING = '2.23.136.1.1.3'

export interface MasterList {
  readonly certificates: readonly Certificate[]
  /** Entries that are no certificate this service can read. */
  readonly unreadable: number
}

/** Reads a CSCA master list (Doc 9303-12, section 9) whose signer chains to one of the roots. */
export function readMasterList(
  bytes: Buffer,
  { roots, now }: { roots: readonly Certificate[]; now: Instant },
): Checked<MasterList, MasterListStep> {
  // 1. It is CMS SignedData.
  const list = readSignedDocument(bytes)
  if (list === undefined) return no('signed_data')
  // 2. It is a master list.
  if (list.contentType !== MASTER_LIST) return no('content_type')
  // 3. The signed attributes are about this content.
  if (!coversContent(list)) return no('message_digest')
  // 4. A certificate that came along signed them.
  const signer = signerCandidates(list).find((candidate) => isSignedWith(list, candidate))
  if (signer === undefined) return no('signature')
  // 5. That certificate is for signing master lists.
  if (
    !maySign(signer) ||
    asksForMore(signer) ||
    purposesOf(signer)?.includes(MASTER_LIST_SIGNING) !== true
  )
    return no('signer_usage')
  // 6. A root that the operator trusts issued it.
  const root = new CountryTrust(roots)
    .issuersOf(signer)
    .find((candidate) => isIssuedBy(signer, candidate))
  if (root === undefined) return no('signer_unknown')
  // 7. Both were valid: the signer when it signed, its issuer when it issued.
  if (!isValidAt(signer, signingTime(list) ?? now) || !isValidAt(root, signer.notBefore))
    return no('signer_validity')
  // 8. The list itself. One state's odd certificate must not shut out the others.
  const entries = unlessMalformed(() => entriesOf(list.content)) ?? []
  const certificates = entries.flatMap((entry) => readStateCertificate(entry) ?? [])
  return certificates.length === 0
    ? no('content')
    : found({ certificates, unreadable: entries.length - certificates.length })
}

function entriesOf(content: Buffer): readonly Buffer[] {
  const [version, entries] = readSequence(readElement(content, 'ber'))
  readSmall(version)
  return readSetOf(entries).map(({ whole }) => whole)
}
