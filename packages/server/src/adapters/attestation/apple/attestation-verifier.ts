import { hash } from 'node:crypto'
import {
  type AppleTrust,
  type AppReceiptResult,
  verifyAppAttestation,
} from '@bonded/attestation/apple'
import { decodeBase64url } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import type { KeyReceipt } from '@bonded/core/ports/devices'
import { NO_SERIALS, type RegistrationVerifier } from '../registration/task.ts'
import { rejectionOf } from '../rejection-of.ts'
import { readKeyId } from './key-id.ts'

/** Verifies the attestation of App Attest keys (protocol 6). */
export function appleAttestationVerifier(
  trust: AppleTrust,
): RegistrationVerifier<'apple-app-attest'> {
  return (request, now) => {
    const keyId = readKeyId(request.key_id)
    const attestationObject = decodeBase64url(request.attestation_object)
    const challenge = decodeBase64url(request.challenge)
    if (keyId === undefined || attestationObject === undefined || challenge === undefined)
      return { result: reject('attestation_invalid', { step: 'encoding' }), serials: NO_SERIALS }
    const verifyOver = (signed: Uint8Array | string) =>
      verifyAppAttestation(
        { attestationObject, keyId, clientDataHash: hash('sha256', signed, 'buffer'), now },
        trust,
      )
    const overBytes = verifyOver(challenge)
    // Some app libraries take the challenge as text and hash that. The text has one spelling, so it
    // names the same challenge.
    const isOfOtherHash = !overBytes.ok && overBytes.step === 'nonce'
    const attested = isOfOtherHash ? verifyOver(request.challenge) : overBytes
    if (!attested.ok) return { result: rejectionOf(attested), serials: NO_SERIALS }
    const { publicKey, appId, environment, category, bundleVersion, receipt } = attested.value
    const result = accept({
      // The id is encoded again, so that two spellings of one key id are one key.
      keyId: keyId.toString('base64url'),
      publicKey,
      appId,
      environment,
      build: { category, bundleVersion },
      receipt: keyReceiptOf(receipt),
    })
    return { result, serials: NO_SERIALS }
  }
}

function keyReceiptOf(receipt: AppReceiptResult): KeyReceipt {
  return receipt.ok ? { verified: true, ...receipt.value } : { verified: false, step: receipt.step }
}
