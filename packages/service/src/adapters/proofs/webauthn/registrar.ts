import { hash } from 'node:crypto'
import { decodeBase64url, encodeBase64url, type RegistrationOf } from '@bonded/contract'
import { verifyRegistrationResponse } from '@simplewebauthn/server'
import { cose, isoCBOR, parseAuthenticatorData } from '@simplewebauthn/server/helpers'
import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { KeyRegistrar, RegisteredKey } from '../../../ports/proofs.ts'
import { readHeader } from '../authenticator-header.ts'
import { readCoseKey } from '../cbor/cose-key.ts'
import { decodeCbor } from '../cbor/strict-cbor.ts'
import { FLAG } from './authenticator-data.ts'
import { badClientData } from './client-data.ts'
import { type StatementTrust, verifyStatement } from './statement.ts'

type WebauthnRegistration = Omit<RegistrationOf<'webauthn'>, 'format'>

/** In base64url; an attestation with a chain of five certificates is below 14 000. */
const MAX_ATTESTATION_LENGTH = 22_000
/** In base64url, as at an assertion. */
const MAX_CLIENT_DATA_LENGTH = 4096
/** `app_attest.key_id` takes 1024 characters. */
const MAX_CREDENTIAL_ID_LENGTH = 1024

/**
 * Registers keys of phones that speak through a browser (protocol 6). The library judges the ceremony; the statement is
 * judged here, and the library is shown the same object without it (see `verifyPath` for why).
 *
 * @param origin the service's own; its host is the RP ID
 */
export function webauthnRegistrar({
  origin,
  trust,
  clock,
}: {
  origin: string
  trust: StatementTrust
  clock: Pick<Clock, 'now'>
}): KeyRegistrar<'webauthn'> {
  const rpId = new URL(origin).hostname
  const trusted = { origin, rpId, trust, clock }
  return { register: (request) => verifyRegistration(request, trusted) }
}

async function verifyRegistration(
  { challenge, registration }: WebauthnRegistration,
  {
    origin,
    rpId,
    trust,
    clock,
  }: { origin: string; rpId: string; trust: StatementTrust; clock: Pick<Clock, 'now'> },
): Promise<Result<RegisteredKey>> {
  const no = (step: string) => refuse('attestation_invalid', { step })
  const { clientDataJSON, attestationObject } = registration.response
  if (
    clientDataJSON.length > MAX_CLIENT_DATA_LENGTH ||
    attestationObject.length > MAX_ATTESTATION_LENGTH
  )
    return no('encoding')
  // 1. Client data: our own page, for our challenge.
  const clientData = decodeBase64url(clientDataJSON)
  if (clientData === undefined) return no('encoding')
  const bad = badClientData(clientData, { type: 'webauthn.create', challenge, origin })
  if (bad !== undefined) return no(bad)
  // 2. The attestation object: one CBOR map of three members.
  const object = decodeBase64url(attestationObject)
  if (object === undefined) return no('encoding')
  const parts = decodeCbor(object)
  if (!(parts instanceof Map) || parts.size !== 3) return no('attestation_object')
  const members: unknown = parts.get('attStmt')
  const authenticatorData: unknown = parts.get('authData')
  if (!(members instanceof Map) || !(authenticatorData instanceof Uint8Array))
    return no('attestation_object')
  // 3. The ceremony: RP ID, a person present and verified, flags that agree, an ES256 key, nothing left over.
  const ceremony = await verifyCeremony(registration, {
    challenge,
    origin,
    rpId,
    authenticatorData,
  })
  if (ceremony === undefined) return no(ceremonyStep(authenticatorData, rpId))
  const { credential, credentialDeviceType } = ceremony
  if (credential.id !== registration.id || credential.id.length > MAX_CREDENTIAL_ID_LENGTH)
    return no('credential_id')
  const key = readCoseKey(credential.publicKey)
  if (key === undefined) return no('key_algorithm')
  // 4. The statement: who vouches for the key, if anybody.
  const statement = await verifyStatement(
    {
      format: parts.get('fmt'),
      members,
      authenticatorData,
      clientDataHash: hash('sha256', clientData, 'buffer'),
      aaguid: parseAuthenticatorData(Uint8Array.from(authenticatorData)).aaguid ?? new Uint8Array(),
      publicKey: key,
    },
    trust,
    clock.now(),
  )
  if (!statement.ok) return statement
  const backupEligible = credentialDeviceType === 'multiDevice'
  return accept({
    keyId: credential.id,
    publicKey: key.export({ format: 'der', type: 'spki' }),
    environment: statement.value.environment,
    appId: rpId,
    counter: credential.counter,
    // A key that may be copied proves an account, not this phone, whoever made it.
    webauthn: { attested: statement.value.attested && !backupEligible, backupEligible },
  })
}

async function verifyCeremony(
  registration: WebauthnRegistration['registration'],
  {
    challenge,
    origin,
    rpId,
    authenticatorData,
  }: { challenge: string; origin: string; rpId: string; authenticatorData: Uint8Array },
) {
  const unattested = isoCBOR.encode(
    new Map<string, string | Uint8Array | Map<string, never>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, never>()],
      ['authData', authenticatorData],
    ]),
  )
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      response: {
        id: registration.id,
        rawId: registration.id,
        type: registration.type,
        clientExtensionResults: {},
        response: {
          clientDataJSON: registration.response.clientDataJSON,
          attestationObject: encodeBase64url(unattested),
        },
      },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserPresence: true,
      requireUserVerification: true,
      supportedAlgorithmIDs: [cose.COSEALG.ES256],
    })
    return registrationInfo
  } catch {
    // The library refuses by throwing errors that differ in their text only.
    return undefined
  }
}

/** Which check of the ceremony has refused, for the log. */
function ceremonyStep(authenticatorData: Uint8Array, rpId: string): string {
  const header = readHeader(authenticatorData)
  if (header === undefined || !hash('sha256', rpId, 'buffer').equals(header.appIdHash))
    return 'app_id'
  const { flags } = header
  if ((flags & FLAG.userPresent) === 0) return 'user_present'
  if ((flags & FLAG.userVerified) === 0) return 'user_verified'
  return (flags & (FLAG.backupEligible | FLAG.backedUp)) === FLAG.backedUp
    ? 'backup_flags'
    : 'ceremony'
}
