import { type StatementTrust, verifyWebAuthnRegistration } from '@bonded/attestation/webauthn'
import { decodeBase64url } from '@bonded/contract'
import { accept, reject } from '@bonded/core/domain/rejection'
import { NO_SERIALS, type RegistrationVerifier } from '../registration/task.ts'
import { rejectionOf } from '../rejection-of.ts'

/** Base64url characters. An attestation with a chain of five certificates has fewer than 14,000. */
const MAX_ATTESTATION_LENGTH = 22_000
/** Base64url characters, the same limit as for an assertion. */
const MAX_CLIENT_DATA_LENGTH = 4096

/**
 * Verifies the registration of browser keys (protocol 6).
 *
 * @param options.origin the service's own origin
 * @param options.rpId the relying party id, which is stored with the key; by default the host
 */
export function webauthnAttestationVerifier({
  origin,
  rpId = new URL(origin).hostname,
  trust,
}: {
  origin: string
  rpId?: string | undefined
  trust: StatementTrust
}): RegistrationVerifier<'webauthn'> {
  return (request, now) => {
    const fail = (step: string) => ({
      result: reject('attestation_invalid', { step }),
      serials: NO_SERIALS,
    })
    const { id, response } = request.registration
    if (
      response.clientDataJSON.length > MAX_CLIENT_DATA_LENGTH ||
      response.attestationObject.length > MAX_ATTESTATION_LENGTH
    )
      return fail('encoding')
    const challenge = decodeBase64url(request.challenge)
    const clientDataJson = decodeBase64url(response.clientDataJSON)
    const attestationObject = decodeBase64url(response.attestationObject)
    if (challenge === undefined || clientDataJson === undefined || attestationObject === undefined)
      return fail('encoding')
    const credentialId = decodeBase64url(id)
    if (credentialId === undefined) return fail('credential_id')
    const verified = verifyWebAuthnRegistration(
      { credentialId, clientDataJson, attestationObject, challenge, origin, rpId, now },
      trust,
    )
    if (!verified.ok) return { result: rejectionOf(verified), serials: NO_SERIALS }
    const { publicKey, environment, counter, attested, backupEligible, serials } = verified.value
    const result = accept({
      keyId: id,
      publicKey,
      environment,
      appId: rpId,
      counter,
      webauthn: { attested, backupEligible },
    })
    return { result, serials }
  }
}
