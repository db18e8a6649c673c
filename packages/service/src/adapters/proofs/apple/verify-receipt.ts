import type { KeyReceipt } from '../../../ports/proofs.ts'
import { readSignedData, type SignedData } from '../cms/signed-data.ts'
import { schemeOf } from '../x509/algorithm.ts'
import { isSignatureOf } from '../x509/public-key.ts'
import { readAppleCertificate, type TrustAnchor, verifyChain } from './chain.ts'
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
const RECEIPT_SIGNER = '1.2.840.113635.100.12.15'
/** The signer, its issuer, the root; more would be work for whoever sends them. */
const MAX_CERTIFICATES = 4
/** What Apple's data servers call the two environments. */
const ENVIRONMENT: Readonly<Record<AppleEnvironment, string>> = {
  development: 'sandbox',
  production: 'production',
}

/** Verifies the receipt of a new key. The numbers are those of Apple's "Assessing fraud risk", section "Verify the receipt". */
export function verifyReceipt(
  receipt: Buffer,
  facts: ReceiptFacts,
  anchors: readonly TrustAnchor[],
): ReceiptFinding {
  const { now } = facts
  const no = (step: string) => ({ verified: false, step }) as const
  const signedData = readReceipt(receipt)
  if (signedData === undefined || signedData.certificates.length > MAX_CERTIFICATES)
    return no('structure')

  // 2. The signer's chain to Apple's root, and the mark that it signs receipts.
  const signer = signerOf(signedData, { anchors, now })
  if (signer === undefined) return no('certificate_chain')
  if (!signer.extensions.has(RECEIPT_SIGNER)) return no('signer')
  // 1. The signature, over the content itself.
  const { content } = signedData
  if (
    !isSignatureOf({
      message: content,
      digest: DIGEST,
      signature: signedData.signer.signature,
      key: signer.key,
    })
  )
    return no('signature')
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
  const key = readAppleCertificate(fields.certificate)?.key.export({ format: 'der', type: 'spki' })
  if (key?.equals(facts.publicKey) !== true) return no('public_key')
  if (!fields.clientDataHash.equals(facts.clientDataHash)) return no('client_data_hash')

  const { createdAt, expiresAt, riskMetric } = fields
  return {
    verified: true,
    receipt,
    createdAt,
    expiresAt,
    fresh: now - createdAt <= FRESH_FOR_MS,
    riskMetric,
  }
}

const DATA = '1.2.840.113549.1.7.1'
const DIGEST = 'sha256'

/** As Apple writes them: plain data, one signer who signed the content itself and not attributes of it, ECDSA with SHA-256. */
function readReceipt(receipt: Buffer): SignedData | undefined {
  const read = readSignedData(receipt)
  if (
    read === undefined ||
    read.contentType !== DATA ||
    read.hasRevocationLists ||
    read.signers !== 1
  )
    return undefined
  const { signedAttributes, hasUnsignedAttributes, digest, algorithm } = read.signer
  if (
    signedAttributes !== undefined ||
    hasUnsignedAttributes ||
    digest !== DIGEST ||
    algorithm.parameters !== undefined
  )
    return undefined
  const { scheme, digest: signed } = schemeOf(algorithm) ?? {}
  return scheme === 'ecdsa' && signed === DIGEST ? read : undefined
}

/** The certificate that the signer names by issuer and serial number, where one of those sent along leads it to a root. */
function signerOf(
  { certificates, signer: { named } }: SignedData,
  trust: { anchors: readonly TrustAnchor[]; now: number },
) {
  if (named === undefined || 'keyId' in named) return undefined
  const read = certificates.flatMap((certificate) => readAppleCertificate(certificate) ?? [])
  const leaf = read.find(
    ({ serial, issuer }) => serial === named.serial && issuer.encoded.equals(named.issuer.encoded),
  )
  const issuer = leaf && read.find(({ x509 }) => leaf.x509.checkIssued(x509))
  return issuer && verifyChain([leaf.encoded, issuer.encoded], trust)?.leaf
}
