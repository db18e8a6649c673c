import { hash, type KeyObject } from 'node:crypto'
import { requireBytes } from '../arguments.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { isSignatureOf } from '../x509/public-key.ts'
import { acceptsBundleVersion, acceptsCategory, type AppleApp, appIdHashOf } from './app.ts'
import { readAuthenticatorData } from './authenticator-data.ts'
import type { Extensions } from './extensions.ts'
import { bufferOf } from '../bytes.ts'

/** What `verifyAppAssertion` is given. */
export interface AppAssertionInput {
  /** The key that `verifyAppAttestation` returned. Build the `KeyObject` once and cache it. */
  readonly publicKey: KeyObject
  /** SHA-256 of the client data, which the caller rebuilds and does not take from the client. */
  readonly clientDataHash: Uint8Array
  readonly authenticatorData: Uint8Array
  /** ECDSA, DER. */
  readonly signature: Uint8Array
}

/**
 * What a verified assertion states. The caller checks that the counter increased, and stores it.
 */
export interface VerifiedAppAssertion extends Extensions {
  readonly counter: number
}

/** The check that failed. */
export type AppAssertionStep =
  | 'encoding'
  | 'signature'
  | 'authenticator_data'
  | 'app_id'
  | 'validation_category'
  | 'bundle_version'

/** The fixed part has 37 bytes, the map of iOS 27 about 66 more. */
const MAX_AUTHENTICATOR_DATA_BYTES = 1_024
/** Two integers of at most 33 bytes, with their heads. */
const MAX_SIGNATURE_BYTES = 72
const MIN_SIGNATURE_BYTES = 8

/**
 * Verifies an App Attest assertion. The numbers are those of Apple's "Validating apps that connect
 * to your server", section "Verify the assertion". Three steps are the caller's: 1, the hash of the
 * client data, and 6, the challenge in it, because the caller rebuilds the client data; and 5, the
 * counter, because only a store can compare and raise it in one statement.
 *
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 *
 * @example
 * import { createPublicKey, hash } from 'node:crypto'
 * import { verifyAppAssertion } from '@bonded/attestation/apple'
 * import { appAttestSample as sample } from '@bonded/attestation/samples'
 *
 * const app = {
 *   appId: sample.appId,
 *   environments: ['production'],
 *   categories: [4],
 *   missing: 'allow',
 *   bundleVersions: 'any',
 * }
 * const asserted = verifyAppAssertion(
 *   {
 *     publicKey: createPublicKey({ key: sample.publicKey, format: 'der', type: 'spki' }),
 *     clientDataHash: hash('sha256', sample.payload, 'buffer'),
 *     authenticatorData: sample.authenticatorData,
 *     signature: sample.signature,
 *   },
 *   app,
 * )
 * console.log(asserted.ok && asserted.value.counter) // 1
 */
export function verifyAppAssertion(
  input: AppAssertionInput,
  app: AppleApp,
): Result<VerifiedAppAssertion, 'assertion_invalid', AppAssertionStep> {
  const { publicKey, clientDataHash, authenticatorData, signature } = input
  requireBytes({ clientDataHash, authenticatorData, signature })
  const fail = rejectWith('assertion_invalid')
  if (authenticatorData.length > MAX_AUTHENTICATOR_DATA_BYTES) return fail('encoding')
  if (signature.length < MIN_SIGNATURE_BYTES || signature.length > MAX_SIGNATURE_BYTES)
    return fail('encoding')

  // 2. The nonce is the hash of both.
  const nonce = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  // 3. The key signed the nonce. ECDSA hashes what it signs, so this is the second hash.
  if (!isSignatureOf({ message: nonce, digest: 'sha256', signature, key: publicKey }))
    return fail('signature')
  // The authenticator data is parsed only after its signature has been verified.
  const data = readAuthenticatorData(bufferOf(authenticatorData))
  if (data === undefined) return fail('authenticator_data')
  // 4. The assertion is for the app that the key was registered for.
  if (!appIdHashOf(app).equals(data.appIdHash)) return fail('app_id')
  // 7, 8. Since iOS 27: the installation channel and the build.
  if (!acceptsCategory(app, data.extensions)) return fail('validation_category')
  if (!acceptsBundleVersion(app, data.extensions)) return fail('bundle_version')
  return accept({ counter: data.counter, ...data.extensions })
}
