import { decodeBase64url, encodeBase64url, type RegistrationOf } from '@bonded/contract'
import { PhoneError } from '../errors.ts'

/** The registration of a browser key, as `POST /devices` takes it. */
export type WebAuthnRegistration = RegistrationOf<'webauthn'>['registration']

/** The attestation conveyance of a registration, as WebAuthn names it. */
export type AttestationConveyance = 'direct' | 'none'

/** A key behind WebAuthn: the browser verifies the user for each signature. */
export interface WebAuthnSigner {
  readonly format: 'webauthn'
  /**
   * Creates a key and returns its registration.
   *
   * @param challenge the 32 bytes from the service
   * @param conveyance `direct` requests the authenticator's attestation, `none` requests none
   * @throws {PhoneError} `user_verification_failed`, `authenticator_unusable`
   */
  register(challenge: Uint8Array, conveyance: AttestationConveyance): Promise<WebAuthnRegistration>
  /**
   * Signs a challenge with the registered key.
   *
   * @param challenge SHA-256 of the payload, 32 bytes
   * @param keyId the credential id, base64url, as the service returned it
   * @throws {PhoneError} `user_verification_failed`, `authenticator_unusable`
   */
  assert(challenge: Uint8Array, keyId: string): Promise<WebAuthnAssertion>
}

/** The authenticator's assertion, as bytes. */
export interface WebAuthnAssertion {
  readonly authenticatorData: Uint8Array
  readonly clientDataJson: Uint8Array
  /** ECDSA P-256 with SHA-256, DER. */
  readonly signature: Uint8Array
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
    residentKey: 'discouraged'
  }
  attestation: AttestationConveyance
  timeout: number
}

interface RequestOptions {
  challenge: Bytes
  rpId: string
  allowCredentials: { type: 'public-key'; id: Bytes }[]
  userVerification: 'required'
  timeout: number
}

export interface WebAuthnSignerOptions {
  /** `navigator.credentials` of the page. */
  readonly credentials: CredentialsLike
  /** The host of the service's origin. The service accepts no other relying party id. */
  readonly rpId: string
  /** The relying party's name in the browser's prompt. */
  readonly rpName: string
  /** The name of the key in the user's password manager, for example "Approvals on this phone". */
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
 * A signer on WebAuthn. It requires user verification and requests the authenticator's attestation:
 * production tenants accept keys without one only if their workflow permits it.
 *
 * @example
 * const signer = createWebAuthnSigner({
 *   credentials: navigator.credentials,
 *   rpId: location.hostname,
 *   rpName: 'Example Bank approvals',
 *   keyName: 'Approvals on this phone',
 *   random: (length) => crypto.getRandomValues(new Uint8Array(length)),
 * })
 */
export function createWebAuthnSigner(options: WebAuthnSignerOptions): WebAuthnSigner {
  const { credentials, rpId, rpName, keyName, random } = options
  return {
    format: 'webauthn',
    async register(challenge, conveyance) {
      const created = await request(() =>
        credentials.create({
          publicKey: {
            challenge: Uint8Array.from(challenge),
            rp: { id: rpId, name: rpName },
            user: { id: random(USER_HANDLE_BYTES), name: keyName, displayName: keyName },
            pubKeyCredParams: [{ type: 'public-key', alg: ES256 }],
            authenticatorSelection: {
              authenticatorAttachment: 'platform',
              userVerification: 'required',
              residentKey: 'discouraged',
            },
            attestation: conveyance,
            timeout: TIMEOUT_MS,
          },
        }),
      )
      const { id, response } = created as CreatedCredential
      return {
        id,
        type: 'public-key',
        response: {
          clientDataJSON: encodeBase64url(bytesOf(response.clientDataJSON)),
          attestationObject: encodeBase64url(bytesOf(response.attestationObject)),
        },
      }
    },
    async assert(challenge, keyId) {
      const id = decodeBase64url(keyId)
      if (id === undefined) throw new PhoneError('answer_unreadable', { reason: 'key_id' })
      const signed = await request(() =>
        credentials.get({
          publicKey: {
            challenge: Uint8Array.from(challenge),
            rpId,
            allowCredentials: [{ type: 'public-key', id: Uint8Array.from(id) }],
            userVerification: 'required',
            timeout: TIMEOUT_MS,
          },
        }),
      )
      const { response } = signed as SignedCredential
      return {
        authenticatorData: bytesOf(response.authenticatorData),
        clientDataJson: bytesOf(response.clientDataJSON),
        signature: bytesOf(response.signature),
      }
    },
  }
}

interface CreatedCredential {
  readonly id: string
  readonly response: {
    readonly clientDataJSON: ArrayBuffer
    readonly attestationObject: ArrayBuffer
  }
}

interface SignedCredential {
  readonly response: {
    readonly authenticatorData: ArrayBuffer
    readonly clientDataJSON: ArrayBuffer
    readonly signature: ArrayBuffer
  }
}

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
    const denied = name === 'NotAllowedError' || name === 'AbortError'
    throw new PhoneError(denied ? 'user_verification_failed' : 'authenticator_unusable', {
      reason: name,
      cause,
    })
  }
  if (answer === null || answer === undefined)
    throw new PhoneError('authenticator_unusable', { reason: 'no_credential' })
  return answer
}

function bytesOf(buffer: ArrayBuffer): Uint8Array {
  return new Uint8Array(buffer)
}
