import type { KeyReceipt } from '../../../ports/proofs.ts'
import { oid } from '../der/oid.ts'
import { readSignedData, type SignedData } from '../cms/signed-data.ts'
import { childrenOf, readElement, TAG } from '../der/element.ts'
import { readCertificate, verifyOffLoop } from './certificate.ts'
import { type TrustAnchor, verifyChain } from './chain.ts'
import type { AppleEnvironment } from './app.ts'
import { readReceiptFields } from './receipt-fields.ts'

/** What a receipt is held to: the attestation it came with. */
export interface ReceiptFacts {
  readonly appId: string
  /** SPKI, DER. */
  readonly publicKey: Buffer
  readonly environment: AppleEnvironment
  readonly clientDataHash: Buffer
  readonly now: number
}

/**
 * A receipt with Apple's signature for this very key, or the step at which it turned out not to be one. The
 * attestation does not vouch for the receipt, so anybody on the way may have changed it: a signal, not a proof.
 */
export type ReceiptFinding = KeyReceipt

/** Apple's figure. */
const FRESH_FOR_MS = 5 * 60_000
/** Between Apple's clock and ours. */
const CLOCK_TOLERANCE_MS = 60_000
/** Marks the certificates that may sign receipts. */
const RECEIPT_SIGNER = oid('1.2.840.113635.100.12.15').toString('hex')
/** The signer, its issuer, the root; more would be work for whoever sends them. */
const MAX_CERTIFICATES = 4
/** What Apple's data servers call the two environments. */
const ENVIRONMENT: Readonly<Record<AppleEnvironment, string>> = { development: 'sandbox', production: 'production' }

/** Verifies the receipt of a new key. The numbers are those of Apple's "Assessing fraud risk", section "Verify the receipt". */
export async function verifyReceipt(receipt: Buffer, facts: ReceiptFacts, anchors: readonly TrustAnchor[]): Promise<ReceiptFinding> {
  const { now } = facts
  const no = (step: string) => ({ verified: false, step }) as const
  const signedData = readSignedData(receipt)
  if (signedData === undefined || signedData.certificates.length > MAX_CERTIFICATES) return no('structure')

  // 2. The signer's chain to Apple's root, and the mark that it signs receipts.
  const signer = await signerOf(signedData, { anchors, now })
  if (signer === undefined) return no('certificate_chain')
  if (!signer.extensions.has(RECEIPT_SIGNER)) return no('signer')
  // 1. The signature, over the content itself.
  const { content, signer: signed } = signedData
  if (!(await verifyOffLoop({ body: content, digest: signed.digest, signature: signed.signature, key: signer.publicKey }))) return no('signature')
  // 3. The fields.
  const fields = readReceiptFields(content)
  if (fields === undefined) return no('fields')
  if (fields.type !== 'ATTEST') return no('type')
  // 4. It is for the app.
  if (fields.appId !== facts.appId) return no('app_id')
  if (fields.environment !== ENVIRONMENT[facts.environment]) return no('environment')
  // 5. It is in force. How old it is, is told apart.
  if (now < fields.createdAt - CLOCK_TOLERANCE_MS || now >= fields.expiresAt) return no('time')
  // 6. It is for the key, and for our challenge.
  const key = readCertificate(fields.certificate)?.publicKey.export({ format: 'der', type: 'spki' })
  if (key?.equals(facts.publicKey) !== true) return no('public_key')
  if (!fields.clientDataHash.equals(facts.clientDataHash)) return no('client_data_hash')

  const { createdAt, expiresAt, riskMetric } = fields
  return { verified: true, receipt, createdAt, expiresAt, fresh: now - createdAt <= FRESH_FOR_MS, riskMetric }
}

/** The certificate that the signer names by issuer and serial number, where one of those sent along leads it to a root. */
async function signerOf({ certificates, signer }: SignedData, trust: { anchors: readonly TrustAnchor[]; now: number }) {
  const leaf = certificates.find((certificate) => {
    const fields = childrenOf(childrenOf(readElement(certificate), TAG.sequence)?.[0], TAG.sequence)
    return fields?.[1]?.content.equals(signer.serial) === true && fields[3]?.whole.equals(signer.issuer) === true
  })
  const opened = leaf && readCertificate(leaf)
  if (leaf === undefined || opened === undefined) return undefined
  const issuer = certificates.find((certificate) => {
    const candidate = readCertificate(certificate)
    return candidate !== undefined && opened.x509.checkIssued(candidate.x509)
  })
  return issuer && (await verifyChain([leaf, issuer], trust))?.leaf
}
