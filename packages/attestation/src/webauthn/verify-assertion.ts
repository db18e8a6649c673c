import { hash, type KeyObject } from 'node:crypto'
import { requireBytes } from '../arguments.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { isSignatureOf } from '../x509/public-key.ts'
import { readAuthenticatorData } from './authenticator-data.ts'
import { type ClientDataFault, clientDataFault } from './client-data.ts'

/** What `verifyWebAuthnAssertion` is given. */
export interface WebAuthnAssertionInput {
  /** The registered key. Build the `KeyObject` once and cache it. */
  readonly publicKey: KeyObject
  /** The flag of the registration, which settles it. Undefined where it was not stored. */
  readonly backupEligible: boolean | undefined
  /** `response.clientDataJSON` */
  readonly clientDataJson: Uint8Array
  /** `response.authenticatorData` */
  readonly authenticatorData: Uint8Array
  /** `response.signature`: ECDSA, DER. */
  readonly signature: Uint8Array
  /** What was sent to `navigator.credentials.get`. */
  readonly challenge: Uint8Array
  /** The origin of the page, compared exactly. */
  readonly origin: string
  /**
   * The origin of the top page, for an assertion made in a frame of another origin. Absent: the
   * assertion must come from a page in no such frame.
   */
  readonly topOrigin?: string | undefined
  readonly rpId: string
}

/**
 * What a verified assertion states. The caller checks that the counter increased, and stores it.
 */
export interface VerifiedWebAuthnAssertion {
  readonly counter: number
}

/** The check that failed. */
export type WebAuthnAssertionStep =
  | ClientDataFault
  | 'signature'
  | 'authenticator_data'
  | 'app_id'
  | 'user_present'
  | 'user_verified'
  | 'backup_flags'

/**
 * Verifies an assertion (WebAuthn, section 7.2) of an ES256 key with user verification.
 *
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 *
 * @example
 * import { createPublicKey } from 'node:crypto'
 * import { webAuthnSample as sample } from '@bonded/attestation/samples'
 * import { verifyWebAuthnAssertion } from '@bonded/attestation/webauthn'
 *
 * const asserted = verifyWebAuthnAssertion({
 *   publicKey: createPublicKey({ key: sample.publicKey, format: 'der', type: 'spki' }),
 *   backupEligible: false,
 *   clientDataJson: sample.assertionClientDataJson,
 *   authenticatorData: sample.authenticatorData,
 *   signature: sample.signature,
 *   challenge: sample.assertionChallenge,
 *   origin: sample.origin,
 *   rpId: sample.rpId,
 * })
 * console.log(asserted.ok && asserted.value.counter) // 1
 */
export function verifyWebAuthnAssertion(
  input: WebAuthnAssertionInput,
): Result<VerifiedWebAuthnAssertion, 'assertion_invalid', WebAuthnAssertionStep> {
  const { publicKey, clientDataJson, authenticatorData, signature } = input
  const { challenge, origin, topOrigin, rpId } = input
  requireBytes({ clientDataJson, authenticatorData, signature, challenge })
  const fail = rejectWith('assertion_invalid')
  // 1. The client data: from the expected page, for the challenge.
  const expected = { type: 'webauthn.get', challenge, origin, topOrigin } as const
  const fault = clientDataFault(clientDataJson, expected)
  if (fault !== undefined) return fail(fault)
  // 2. The signature.
  const clientDataHash = hash('sha256', clientDataJson, 'buffer')
  const message = Buffer.concat([authenticatorData, clientDataHash])
  if (!isSignatureOf({ message, digest: 'sha256', signature, key: publicKey }))
    return fail('signature')
  // 3. The authenticator: the RP ID, a user present and verified.
  const data = readAuthenticatorData(authenticatorData)
  if (data === undefined) return fail('authenticator_data')
  if (!hash('sha256', rpId, 'buffer').equals(data.rpIdHash)) return fail('app_id')
  if (!data.userPresent) return fail('user_present')
  if (!data.userVerified) return fail('user_verified')
  // 4. The registration settles whether a key may be copied; only such a key can have been.
  if (data.backedUp && !data.backupEligible) return fail('backup_flags')
  if (input.backupEligible !== undefined && input.backupEligible !== data.backupEligible)
    return fail('backup_flags')
  return accept({ counter: data.counter })
}
