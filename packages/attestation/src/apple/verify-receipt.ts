import { requireBytes, requireInstant } from '../arguments.ts'
import { readSignedData, type SignedData } from '../cms/signed-data.ts'
import type { Instant } from '../environment.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { schemeOf } from '../x509/algorithm.ts'
import { isSignatureOf } from '../x509/public-key.ts'
import type { AppleEnvironment } from './app.ts'
import { readAppleCertificate, type TrustAnchor, verifyAppleChain } from './certificate-chain.ts'
import { readReceiptFields } from './receipt-fields.ts'

/** What `verifyAppReceipt` is given: a receipt, and the attestation that it came with. */
export interface AppReceiptInput {
  /** CMS, as it is in the attestation object. */
  readonly receipt: Uint8Array
  readonly appId: string
  /** SPKI, DER. */
  readonly publicKey: Uint8Array
  readonly environment: AppleEnvironment
  readonly clientDataHash: Uint8Array
  readonly now: Instant
}

/** What a verified receipt states. */
export interface VerifiedAppReceipt {
  readonly receipt: Uint8Array
  readonly createdAt: Instant
  readonly expiresAt: Instant
  /** Whether Apple created it in the last five minutes. */
  readonly fresh: boolean
  /** How many keys this phone created for the app recently. Only a refreshed receipt has it. */
  readonly riskMetric: string | undefined
}

/** The check that failed. */
export type AppReceiptStep =
  | 'structure'
  | 'certificate_chain'
  | 'signer'
  | 'signature'
  | 'fields'
  | 'type'
  | 'app_id'
  | 'environment'
  | 'time'
  | 'public_key'
  | 'client_data_hash'

export type AppReceiptResult = Result<VerifiedAppReceipt, 'receipt_invalid', AppReceiptStep>

/** Apple's figure. */
const FRESH_FOR_MS = 5 * 60_000
/** The largest difference between Apple's clock and the caller's. */
const CLOCK_TOLERANCE_MS = 60_000
/** The extension that marks certificates that may sign receipts. */
const RECEIPT_SIGNER = '1.2.840.113635.100.12.15'
/** The signer, its issuer, the root; more would only cost time. */
const MAX_CERTIFICATES = 4
/** The names that Apple's data servers use for the two environments. */
const ENVIRONMENT: Readonly<Record<AppleEnvironment, string>> = {
  development: 'sandbox',
  production: 'production',
}

/**
 * Verifies the receipt of a new key. The numbers are those of Apple's "Assessing fraud risk",
 * section "Verify the receipt". The attestation does not cover the receipt, so a receipt is a
 * signal and no proof: anyone on the way can replace it.
 *
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 *
 * @example
 * import { hash } from 'node:crypto'
 * import { trustAnchor, verifyAppReceipt } from '@bonded/attestation/apple'
 * import { appAttestSample as sample } from '@bonded/attestation/samples'
 *
 * const receipt = verifyAppReceipt(
 *   {
 *     receipt: sample.receipt,
 *     appId: sample.appId,
 *     publicKey: sample.publicKey,
 *     environment: 'production',
 *     clientDataHash: hash('sha256', sample.challenge, 'buffer'),
 *     now: sample.now,
 *   },
 *   // With real phones: appleTrust([app]).receiptAnchors
 *   [trustAnchor(sample.receiptTestRoot, 'sandbox')],
 * )
 * console.log(receipt.ok && receipt.value.fresh) // true
 */
export function verifyAppReceipt(
  input: AppReceiptInput,
  anchors: readonly TrustAnchor[],
): AppReceiptResult {
  const { receipt, publicKey, clientDataHash, now } = input
  requireBytes({ receipt, publicKey, clientDataHash })
  requireInstant(now)
  const fail = rejectWith('receipt_invalid')
  const signedData = readReceipt(receipt)
  if (signedData === undefined || signedData.certificates.length > MAX_CERTIFICATES)
    return fail('structure')

  // 2. The signer chains to Apple's root, and may sign receipts.
  const signer = signerOf(signedData, { anchors, now })
  if (signer === undefined) return fail('certificate_chain')
  if (!signer.extensions.has(RECEIPT_SIGNER)) return fail('signer')
  // 1. The signature covers the content itself.
  const { content } = signedData
  const { signature } = signedData.signer
  if (!isSignatureOf({ message: content, digest: DIGEST, signature, key: signer.key }))
    return fail('signature')
  // 3. The fields.
  const fields = readReceiptFields(content)
  if (fields === undefined) return fail('fields')
  if (fields.type !== 'ATTEST') return fail('type')
  // 4. It is for the app.
  if (fields.appId !== input.appId) return fail('app_id')
  if (fields.environment !== ENVIRONMENT[input.environment]) return fail('environment')
  // 5. It is in force. `fresh` says separately how old it is.
  if (now < fields.createdAt - CLOCK_TOLERANCE_MS || now >= fields.expiresAt) return fail('time')
  // 6. It is for the key, and for the challenge.
  const key = readAppleCertificate(fields.certificate)?.key.export({ format: 'der', type: 'spki' })
  if (key?.equals(publicKey) !== true) return fail('public_key')
  if (!fields.clientDataHash.equals(clientDataHash)) return fail('client_data_hash')

  const { createdAt, expiresAt, riskMetric } = fields
  const fresh = now - createdAt <= FRESH_FOR_MS
  return accept({ receipt, createdAt, expiresAt, fresh, riskMetric })
}

const DATA = '1.2.840.113549.1.7.1'
const DIGEST = 'sha256'

/**
 * Reads a receipt as Apple writes it: plain data, and one signer that signed the content itself and
 * no attributes, with ECDSA and SHA-256.
 */
function readReceipt(receipt: Uint8Array): SignedData | undefined {
  const read = readSignedData(receipt)
  if (
    read === undefined ||
    read.contentType !== DATA ||
    read.hasRevocationLists ||
    read.signerCount !== 1
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

/**
 * The certificate that the signer names by issuer and serial number, if an included issuer chains
 * it to a root.
 */
function signerOf(
  { certificates, signer: { signerId } }: SignedData,
  trust: { anchors: readonly TrustAnchor[]; now: Instant },
) {
  if (signerId === undefined || 'keyId' in signerId) return undefined
  const read = certificates.flatMap((certificate) => readAppleCertificate(certificate) ?? [])
  const leaf = read.find(
    ({ serial, issuer }) =>
      serial === signerId.serial && issuer.encoded.equals(signerId.issuer.encoded),
  )
  const issuer = leaf && read.find(({ x509 }) => leaf.x509.checkIssued(x509))
  return issuer && verifyAppleChain([leaf.encoded, issuer.encoded], trust)?.leaf
}
