import type { BrowserKeyCredential, RegistrationOf, ResponseLike } from '@bonded/contract'
import type { PhoneDevice } from './device.ts'
import type { WebAuthnSigner } from './signers/webauthn.ts'

/** SHA-256 of bytes: 32 bytes. */
export type Sha256 = (bytes: Uint8Array) => Promise<Uint8Array> | Uint8Array

/** A P-256 key that cannot be exported. One key serves one origin. */
export type Signer = SoftwareSigner | PlatformSigner | WebAuthnSigner

/** A key without an attestation: it serves sandbox tenants only. */
export interface SoftwareSigner {
  readonly format?: 'software'
  /** The public key as SubjectPublicKeyInfo (DER). */
  publicKey(): Promise<Uint8Array>
  /** ECDSA P-256 with SHA-256 over the message, as DER. */
  sign(message: Uint8Array): Promise<Uint8Array>
}

/** A key that the phone's platform stores and attests: App Attest, or the Android keystore. */
export interface PlatformSigner {
  readonly format: 'apple-app-attest' | 'android-key'
  /**
   * The attestation of the key, for its registration.
   *
   * @param challenge the 32 bytes of the service. App Attest signs their SHA-256, or that of their
   * text in base64url
   */
  attest(challenge: Uint8Array): Promise<PlatformProof>
  /** Signs a payload's SHA-256 as the format does (protocol 5). */
  assert(request: SigningRequest): Promise<{
    readonly authenticatorData: Uint8Array
    readonly signature: Uint8Array
  }>
}

/** What a platform's key signs. */
export interface SigningRequest {
  /** The payload, for platform libraries that take a text and hash its UTF-8. */
  readonly payload: string
  /** SHA-256 of the payload in UTF-8: 32 bytes. */
  readonly clientDataHash: Uint8Array
  /** Returns the next counter of the phone's store. App Attest has its own and does not call it. */
  readonly nextCounter: () => Promise<number>
}

/** The members of `POST /devices` by which a platform attests a key. */
export type PlatformProof =
  | Omit<RegistrationOf<'apple-app-attest'>, 'format' | 'challenge'>
  | Omit<RegistrationOf<'android-key'>, 'format' | 'challenge'>

/**
 * Creates a browser key: a discoverable passkey that confirms requests in the browser of a page.
 * It prompts the user once. `browserKeyOptions` has the options for a passkey library.
 *
 * @returns the credential, as its `toJSON()` writes it
 */
export type CreateBrowserKey = (request: {
  /** The challenge in base64url. */
  readonly challenge: string
  readonly rp_id: string
}) => Promise<BrowserKeyCredential>

/** The storage of a phone for one origin. */
export interface PhoneStore {
  /** The registered device, or undefined. */
  device(): Promise<PhoneDevice | undefined>
  /** Durable when it resolves. */
  keep(device: PhoneDevice): Promise<void>
  /**
   * The next counter of the key: 1 first, then strictly increasing. It is durable **before** it
   * resolves, and no two callers, even in two processes, get the same number. A skipped number is
   * harmless; a number used twice makes the service suspect a copied key.
   */
  nextCounter(): Promise<number>
}

/** Cancels a scheduled act. Calling it late or twice does nothing. */
export type Cancel = () => void

/** A monotonic clock. It need not show the time of day (protocol 1). */
export interface PhoneClock {
  /** Milliseconds since any moment, never going back. */
  now(): number
  /** Acts once, after the delay in milliseconds. */
  schedule(delayMs: number, act: () => void): Cancel
}

/** The part of an AbortSignal that the phone needs. */
export interface AbortSignalLike {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** What ends a call before its response. */
export interface Waiting {
  readonly signal?: AbortSignalLike | undefined
}

/** The part of a request that the phone needs. A token must not follow a redirect. */
export interface RequestLike {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly redirect: 'error'
  readonly signal?: AbortSignalLike
}

/** fetch. It must reject when no response arrives. A timeout of 40 s allows the longest poll. */
export type FetchLike = (url: string, request: RequestLike) => Promise<ResponseLike>
