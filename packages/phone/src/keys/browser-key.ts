import { type BrowserKeyRegistration, encodeBase64url } from '@bonded/contract'
import { fetchChallenge } from '../device.ts'
import { PhoneError } from '../errors.ts'
import type { PhoneDependencies } from '../session/claimed-session.ts'

/** COSE's number for ECDSA with SHA-256. */
const ES256 = -7
const USER_HANDLE_BYTES = 32
/** The user reads the prompt and unlocks the phone. */
const TIMEOUT_MS = 120_000

/** The names of a browser key, in the prompt and in the user's password manager. */
export interface BrowserKeyNames {
  readonly rpName: string
  /** The name that the user reads, for example "Approvals, Nov 23, 2026". */
  readonly keyName: string
  readonly random: (length: number) => Uint8Array
}

/**
 * The options of a browser key for a passkey library, as `PublicKeyCredentialCreationOptionsJSON`.
 * The user handle is random, so no key replaces another.
 *
 * @example
 * const names = { rpName: 'Bank', keyName: 'Approvals', random }
 * const createBrowserKey = (request) => passkeys.create(browserKeyOptions(request, names))
 * const phone = createPhone({ ...options, createBrowserKey })
 */
export function browserKeyOptions(
  { challenge, rp_id }: { readonly challenge: string; readonly rp_id: string },
  { rpName, keyName, random }: BrowserKeyNames,
) {
  return {
    challenge,
    rp: { id: rp_id, name: rpName },
    user: {
      id: encodeBase64url(random(USER_HANDLE_BYTES)),
      name: keyName,
      displayName: keyName,
    },
    pubKeyCredParams: [{ type: 'public-key' as const, alg: ES256 }],
    authenticatorSelection: {
      authenticatorAttachment: 'platform' as const,
      residentKey: 'required' as const,
      requireResidentKey: true,
      userVerification: 'required' as const,
    },
    attestation: 'none' as const,
    timeout: TIMEOUT_MS,
  }
}

/**
 * Creates a browser key over a new challenge, for an approval that covers it (protocol 6).
 *
 * @throws {PhoneError} `unreachable`, `refused`, and what `createBrowserKey` throws
 */
export async function newBrowserKey(phone: PhoneDependencies): Promise<BrowserKeyRegistration> {
  if (phone.createBrowserKey === undefined) throw new PhoneError('authenticator_unusable')
  const { challenge, rp_id } = await fetchChallenge(phone)
  if (rp_id === undefined) throw new PhoneError('answer_unreadable', { reason: 'rp_id' })
  const { id, response } = await phone.createBrowserKey({ challenge, rp_id })
  // Passkey libraries add members of their own.
  const { clientDataJSON, attestationObject } = response
  const registration = { id, type: 'public-key', response: { clientDataJSON, attestationObject } }
  return { challenge, registration: registration as BrowserKeyRegistration['registration'] }
}
