import {
  ASSERTION_MEMBERS,
  type CredentialLike,
  credentialBytes,
  credentialMembers,
  decodeBase64url,
  type Invitation,
  promptFailureOf,
  REGISTRATION_MEMBERS,
  type RegistrationOf,
} from '@bonded/contract'
import { PhoneError } from '../errors.ts'

/** The registration of a browser key, as `POST /devices` takes it. */
export type WebAuthnRegistration = RegistrationOf<'webauthn'>['registration']

/** Which key a phone needs, as the invitation to a session says (protocol 3). */
export type KeyRequirement = Pick<Invitation['registration'], 'rp_id' | 'attestation'>

/** A key behind WebAuthn: the browser verifies the user for each signature. */
export interface WebAuthnSigner {
  readonly format: 'webauthn'
  /** The relying party id of a key for which no other one is named. */
  readonly rpId: string
  /**
   * Creates a key with one prompt, and returns its registration. With `attestation: 'none'` the key
   * is discoverable: the authenticator finds it again if the phone loses its record. With
   * `required` the authenticator attests it, and keeps it in its hardware.
   *
   * @param challenge the 32 bytes from the service
   * @throws {PhoneError} `user_verification_failed`, `authenticator_unusable`, and `refused` with
   * reason `key_not_attested` where an attestation is required and the authenticator gives none
   */
  register(challenge: Uint8Array, requirement: KeyRequirement): Promise<WebAuthnRegistration>
  /**
   * Signs a challenge with the registered key.
   *
   * @param challenge SHA-256 of the payload, 32 bytes
   * @param key its credential id, base64url, as the service returned it, and the relying party id
   * that it was created with
   * @throws {PhoneError} `user_verification_failed`, `authenticator_unusable`
   */
  assert(challenge: Uint8Array, key: WebAuthnKey): Promise<WebAuthnAssertion>
  /**
   * Signs a challenge with a discoverable key that the user chooses: the phone need not know which
   * it has.
   *
   * @param challenge SHA-256 of the payload, 32 bytes
   * @throws {PhoneError} `user_verification_failed`, also where there is no such key, and
   * `authenticator_unusable`
   */
  find(challenge: Uint8Array, rpId: string): Promise<FoundKey>
  /** Asks the authenticator to remove a key that the service does not know. Never fails. */
  discard(key: WebAuthnKey): Promise<void>
}

/** A key of an authenticator. */
export interface WebAuthnKey {
  readonly key_id: string
  /** Undefined for a key that was registered before phones stored it: the signer's own. */
  readonly rp_id?: string | undefined
}

/** The authenticator's assertion, as bytes. */
export interface WebAuthnAssertion {
  readonly authenticatorData: Uint8Array
  readonly clientDataJson: Uint8Array
  /** ECDSA P-256 with SHA-256, DER. */
  readonly signature: Uint8Array
}

/** An assertion by a key that the authenticator found, and the key's credential id, base64url. */
export interface FoundKey extends WebAuthnAssertion {
  readonly key_id: string
}

/** The part of `navigator.credentials` that is used. */
export interface CredentialsLike {
  create(options: { publicKey: CreationOptions }): Promise<unknown>
  get(options: { publicKey: RequestOptions }): Promise<unknown>
}

type Bytes = Uint8Array<ArrayBuffer>

interface CreationOptions {
  challenge: Bytes
  rp: { id: string; name: string }
  user: { id: Bytes; name: string; displayName: string }
  pubKeyCredParams: { type: 'public-key'; alg: number }[]
  authenticatorSelection: {
    authenticatorAttachment: 'platform'
    userVerification: 'required'
    residentKey: 'required' | 'discouraged'
    /** Is for authenticators that know WebAuthn Level 1 only. */
    requireResidentKey: boolean
  }
  attestation: 'direct' | 'none'
  timeout: number
}

interface RequestOptions {
  challenge: Bytes
  rpId: string
  /** Omitted, the authenticator offers its discoverable keys. */
  allowCredentials?: { type: 'public-key'; id: Bytes }[]
  userVerification: 'required'
  timeout: number
}

export interface WebAuthnSignerOptions {
  /** `navigator.credentials` of the page. */
  readonly credentials: CredentialsLike
  /** The part of `PublicKeyCredential` that is used; optional, because some browsers lack it. */
  readonly signalUnknownCredential?:
    | ((key: { rpId: string; credentialId: string }) => Promise<unknown>)
    | undefined
  /** The relying party id where neither the invitation nor the key names one: the page's host. */
  readonly rpId: string
  /** The relying party's name in the browser's prompt. */
  readonly rpName: string
  /**
   * The name of the key in the user's password manager, for example "Approvals, Nov 23, 2026". A
   * user may have several, so a date helps to tell them apart.
   */
  readonly keyName: string
  /** Random bytes from a cryptographic source: `crypto.getRandomValues(new Uint8Array(length))`. */
  readonly random: (length: number) => Uint8Array<ArrayBuffer>
}

/** ES256, the one algorithm that the service accepts. */
const ES256 = -7
/** Long enough to unlock a phone; the session ends soon after. */
const TIMEOUT_MS = 60_000
const USER_HANDLE_BYTES = 16

/**
 * A signer on WebAuthn. It requires user verification, and requests the authenticator's attestation
 * only where the workflow needs it: an authenticator that attests a key binds it to one phone.
 *
 * @example
 * const signer = createWebAuthnSigner({
 *   credentials: navigator.credentials,
 *   rpId: location.hostname,
 *   rpName: 'Example Bank approvals',
 *   keyName: 'Approvals, Nov 23, 2026',
 *   random: (length) => crypto.getRandomValues(new Uint8Array(length)),
 * })
 */
export function createWebAuthnSigner(options: WebAuthnSignerOptions): WebAuthnSigner {
  const { credentials } = options
  const discard = async ({ key_id, rp_id = options.rpId }: WebAuthnKey) => {
    // A passkey that no service knows would only confuse its user. Where the browser cannot remove
    // it, the user can.
    await options.signalUnknownCredential?.({ rpId: rp_id, credentialId: key_id }).catch(() => {})
  }
  const sign = async (publicKey: RequestOptions): Promise<FoundKey> => {
    const signed = await request(() => credentials.get({ publicKey }))
    const { id, response } = credentialBytes(signed as AssertedCredential, ASSERTION_MEMBERS)
    return {
      key_id: id,
      authenticatorData: response.authenticatorData,
      clientDataJson: response.clientDataJSON,
      signature: response.signature,
    }
  }
  return {
    format: 'webauthn',
    rpId: options.rpId,
    discard,
    async register(challenge, requirement) {
      const publicKey = creationOf(challenge, requirement, options)
      const created = await request(() => credentials.create({ publicKey }))
      const credential = created as CreatedCredential
      const { id, response } = credentialBytes(credential, REGISTRATION_MEMBERS)
      if (requirement.attestation === 'required' && hasNoAttestation(response.attestationObject)) {
        await discard({ key_id: id, rp_id: requirement.rp_id })
        throw new PhoneError('refused', { reason: 'key_not_attested' })
      }
      return credentialMembers(credential, REGISTRATION_MEMBERS)
    },
    async assert(challenge, { key_id, rp_id = options.rpId }) {
      const id = decodeBase64url(key_id)
      if (id === undefined) throw new PhoneError('answer_unreadable', { reason: 'key_id' })
      return sign({
        ...requestOf(challenge, rp_id),
        allowCredentials: [{ type: 'public-key', id: Uint8Array.from(id) }],
      })
    },
    find: (challenge, rpId) => sign(requestOf(challenge, rpId)),
  }
}

/** The options of a new key. Its user handle is random: no two keys replace each other. */
function creationOf(
  challenge: Uint8Array,
  { rp_id, attestation }: KeyRequirement,
  { rpName, keyName, random }: WebAuthnSignerOptions,
): CreationOptions {
  // An attested key is one that cannot be copied to another phone. Authenticators make those only
  // where the key is not discoverable.
  const isDiscoverable = attestation === 'none'
  return {
    challenge: Uint8Array.from(challenge),
    rp: { id: rp_id, name: rpName },
    user: { id: random(USER_HANDLE_BYTES), name: keyName, displayName: keyName },
    pubKeyCredParams: [{ type: 'public-key', alg: ES256 }],
    authenticatorSelection: {
      authenticatorAttachment: 'platform',
      userVerification: 'required',
      residentKey: isDiscoverable ? 'required' : 'discouraged',
      requireResidentKey: isDiscoverable,
    },
    attestation: isDiscoverable ? 'none' : 'direct',
    timeout: TIMEOUT_MS,
  }
}

function requestOf(challenge: Uint8Array, rpId: string): RequestOptions {
  return {
    challenge: Uint8Array.from(challenge),
    rpId,
    userVerification: 'required',
    timeout: TIMEOUT_MS,
  }
}

/** `{"fmt": "none", …}` in CBOR. Authenticators write the shortest name first, which is `fmt`. */
const NO_ATTESTATION = Uint8Array.of(0xa3, 0x63, 0x66, 0x6d, 0x74, 0x64, 0x6e, 0x6f, 0x6e, 0x65)

/** Whether the authenticator gave no attestation. The service judges those that it gave. */
function hasNoAttestation(attestationObject: Uint8Array): boolean {
  return NO_ATTESTATION.every((byte, index) => attestationObject[index] === byte)
}

type CreatedCredential = CredentialLike<(typeof REGISTRATION_MEMBERS)[number]>
type AssertedCredential = CredentialLike<(typeof ASSERTION_MEMBERS)[number]>

/**
 * Maps the DOM's errors. `NotAllowedError` has one code, because the browser does not reveal its
 * cause.
 */
async function request(send: () => Promise<unknown>): Promise<unknown> {
  let answer: unknown
  try {
    answer = await send()
  } catch (cause) {
    const name = cause instanceof Error ? cause.name : 'Error'
    const isDenied = promptFailureOf(name) === 'denied'
    throw new PhoneError(isDenied ? 'user_verification_failed' : 'authenticator_unusable', {
      reason: name,
      cause,
    })
  }
  if (answer === null || answer === undefined)
    throw new PhoneError('authenticator_unusable', { reason: 'no_credential' })
  return answer
}
