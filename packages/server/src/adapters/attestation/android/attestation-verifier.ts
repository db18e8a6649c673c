import { hash } from 'node:crypto'
import { type AndroidPolicy, verifyAndroidKeyAttestation } from '@bonded/attestation/android'
import { decodeBase64url } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import { NO_SERIALS, type RegistrationVerifier } from '../registration/task.ts'
import { rejectionOf } from '../rejection-of.ts'

/** `@bonded/attestation` rejects longer chains. */
const MAX_CERTIFICATES = 7
/** Base64url characters of the largest certificate accepted, 8 KiB. */
const MAX_CERTIFICATE_LENGTH = 10_923

/** Verifies the attestation of Android keystore keys (protocol 6). */
export function androidAttestationVerifier(
  policy: AndroidPolicy,
): RegistrationVerifier<'android-key'> {
  return (request, now) => {
    const fail = (step: string) => ({
      result: reject('attestation_invalid', { step }),
      serials: NO_SERIALS,
    })
    const { challenge, certificate_chain } = request
    // This check precedes decoding, so that an oversized request costs nothing.
    if (
      certificate_chain.length > MAX_CERTIFICATES ||
      certificate_chain.some(({ length }) => length > MAX_CERTIFICATE_LENGTH)
    )
      return fail('chain_length')
    const challengeBytes = decodeBase64url(challenge)
    const chain = certificate_chain.flatMap((one) => decodeBase64url(one) ?? [])
    if (challengeBytes === undefined || chain.length !== certificate_chain.length)
      return fail('encoding')
    const attested = verifyAndroidKeyAttestation({ chain, challenge: challengeBytes, now }, policy)
    if (!attested.ok) return { result: rejectionOf(attested), serials: NO_SERIALS }
    const { publicKey, environment, appId, serials } = attested.value
    const keyId = hash('sha256', publicKey, 'base64url')
    return { result: accept({ keyId, publicKey, environment, appId }), serials }
  }
}
