import { hash } from 'node:crypto'
import { requireBytes, requireInstant } from '../arguments.ts'
import { keyOfCose } from '../cbor/cose-key.ts'
import { bytesOf, decodeCbor } from '../cbor/strict-cbor.ts'
import type { Environment, Instant } from '../environment.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import { readAttestedCredential, stateOf } from './authenticator-data.ts'
import { readHeader } from './authenticator-header.ts'
import { type ClientDataFault, clientDataFault } from './client-data.ts'
import type { StatementTrust } from './trust.ts'
import { type StatementStep, verifyStatement } from './verify-statement.ts'

/** What `verifyWebAuthnRegistration` is given. The bytes are decoded from `credential.toJSON()`. */
export interface WebAuthnRegistrationInput {
  /** `rawId` */
  readonly credentialId: Uint8Array
  /** `response.clientDataJSON` */
  readonly clientDataJson: Uint8Array
  /** `response.attestationObject` */
  readonly attestationObject: Uint8Array
  /** What was sent to `navigator.credentials.create`. */
  readonly challenge: Uint8Array
  /** The origin of the page, compared exactly. */
  readonly origin: string
  readonly rpId: string
  readonly now: Instant
}

/** A new key of a browser. */
export interface RegisteredWebAuthnKey {
  readonly credentialId: Buffer
  /** SPKI, DER. */
  readonly publicKey: Buffer
  readonly counter: number
  /** Whether hardware that chains to a trusted root holds the key, and no copy can exist. */
  readonly attested: boolean
  /** Whether the key may be copied to other devices. */
  readonly backupEligible: boolean
  readonly environment: Environment
  /** Serial numbers of an Android chain, for Google's revocation list: see `isRevoked`. */
  readonly serials: readonly string[]
}

/** The check that failed. */
export type WebAuthnRegistrationStep =
  | ClientDataFault
  | StatementStep
  | 'encoding'
  | 'attestation_object'
  | 'authenticator_data'
  | 'app_id'
  | 'user_present'
  | 'user_verified'
  | 'backup_flags'
  | 'credential_id'
  | 'key_algorithm'

/** An attestation with a chain of five certificates has less than 11 kB. */
const MAX_ATTESTATION_BYTES = 16_500

/**
 * Verifies a registration (WebAuthn, section 7.1) of an ES256 key with user verification. An
 * unattested key is accepted, and `attested` is false.
 *
 * @throws {TypeError} for an argument of another type, such as a string in place of bytes
 *
 * @example
 * import { GOOGLE_ROOTS } from '@bonded/attestation/android'
 * import { webAuthnSample as sample } from '@bonded/attestation/samples'
 * import {
 *   appleWebAuthnRoots,
 *   attestationRoots,
 *   BROWSER_KEY_STORES,
 *   verifyWebAuthnRegistration,
 * } from '@bonded/attestation/webauthn'
 *
 * const registered = verifyWebAuthnRegistration(
 *   {
 *     credentialId: sample.credentialId,
 *     clientDataJson: sample.registrationClientDataJson,
 *     attestationObject: sample.attestationObject,
 *     challenge: sample.challenge,
 *     origin: sample.origin,
 *     rpId: sample.rpId,
 *     now: sample.now,
 *   },
 *   {
 *     packed: attestationRoots([sample.testRoot], 'sandbox'),
 *     apple: appleWebAuthnRoots(),
 *     android: {
 *       roots: GOOGLE_ROOTS,
 *       testRoots: new Set(),
 *       apps: BROWSER_KEY_STORES,
 *       minPatchLevel: null,
 *       ownerBootKeys: new Set(),
 *       userAuthenticationWithinSeconds: null,
 *     },
 *   },
 * )
 * console.log(registered.ok && registered.value.attested) // true
 */
export function verifyWebAuthnRegistration(
  input: WebAuthnRegistrationInput,
  trust: StatementTrust,
): Result<RegisteredWebAuthnKey, 'attestation_invalid', WebAuthnRegistrationStep> {
  const { attestationObject, clientDataJson, challenge, origin, rpId, now } = input
  requireBytes({
    credentialId: input.credentialId,
    clientDataJson,
    attestationObject,
    challenge,
  })
  requireInstant(now)
  const fail = rejectWith('attestation_invalid')
  if (attestationObject.length > MAX_ATTESTATION_BYTES) return fail('encoding')
  // 1. The client data: from the expected page, for the challenge.
  const fault = clientDataFault(clientDataJson, { type: 'webauthn.create', challenge, origin })
  if (fault !== undefined) return fail(fault)
  // 2. The attestation object: one CBOR map of three members.
  const object = decodeCbor(attestationObject)
  if (!(object instanceof Map) || object.size !== 3) return fail('attestation_object')
  const members: unknown = object.get('attStmt')
  const authenticatorData = bytesOf(object.get('authData'))
  if (!(members instanceof Map) || authenticatorData === undefined)
    return fail('attestation_object')
  // 3. The authenticator: the RP ID, a user present and verified, consistent flags.
  const header = readHeader(authenticatorData)
  if (header === undefined || !hash('sha256', rpId, 'buffer').equals(header.appIdHash))
    return fail('app_id')
  const { userPresent, userVerified, backupEligible, backedUp, counter } = stateOf(header)
  if (!userPresent) return fail('user_present')
  if (!userVerified) return fail('user_verified')
  if (backedUp && !backupEligible) return fail('backup_flags')
  // 4. The credential: the named one, with an ES256 key and no bytes after it.
  const credential = readAttestedCredential(header)
  if (credential === undefined) return fail('authenticator_data')
  const { credentialId, aaguid } = credential
  if (!credentialId.equals(input.credentialId)) return fail('credential_id')
  const key = keyOfCose(credential.key)
  if (key === undefined) return fail('key_algorithm')
  // 5. The statement: who attests the key, if anyone.
  const clientDataHash = hash('sha256', clientDataJson, 'buffer')
  const statement = verifyStatement(
    {
      format: object.get('fmt'),
      members,
      authenticatorData,
      clientDataHash,
      aaguid,
      publicKey: key,
    },
    trust,
    now,
  )
  if (!statement.ok) return statement
  const { attested, environment, serials } = statement.value
  return accept({
    credentialId,
    publicKey: key.export({ format: 'der', type: 'spki' }),
    counter,
    // A key that may be copied identifies an account and not this phone, even if it is attested.
    attested: attested && !backupEligible,
    backupEligible,
    environment,
    serials,
  })
}
