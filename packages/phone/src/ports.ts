import type { AnswerLike, RegistrationOf } from '@bonded/contract'
import type { PhoneDevice } from './device.ts'
import type { WebAuthnSigner } from './signers/webauthn.ts'

/** SHA-256 of bytes: 32 bytes. */
export type Sha256 = (bytes: Uint8Array) => Promise<Uint8Array> | Uint8Array

/** A P-256 key that never leaves its keeper. One key serves one origin. */
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
   * What registers the key beside its format and the challenge.
   *
   * @param challenge the 32 bytes that the service gave; App Attest takes their SHA-256
   */
  attest(challenge: Uint8Array): Promise<PlatformProof>
  /**
   * Signs a payload's SHA-256 as the format does (protocol 5).
   *
   * @param nextCounter of the phone's store. App Attest counts by itself and does not ask.
   */
  assert(
    clientDataHash: Uint8Array,
    nextCounter: () => Promise<number>,
  ): Promise<{ authenticatorData: Uint8Array; signature: Uint8Array }>
}

/** The members of `POST /devices` by which a platform attests a key. */
export type PlatformProof =
  | Omit<RegistrationOf<'apple-app-attest'>, 'format' | 'challenge'>
  | Omit<RegistrationOf<'android-key'>, 'format' | 'challenge'>

/** What a phone keeps for one origin. */
export interface PhoneStore {
  /** The device registered there, or undefined. */
  device(): Promise<PhoneDevice | undefined>
  /** Durable when it resolves. */
  keep(device: PhoneDevice): Promise<void>
  /**
   * The next counter of the key: 1 first, then strictly rising. Durable **before** it resolves, and of two callers,
   * in one process or in two, none gets the same number: a number that is lost costs nothing, one used twice makes
   * the service suspect a copied key.
   */
  nextCounter(): Promise<number>
}

/** Takes back what was scheduled. Calling it late or twice does nothing. */
export type Cancel = () => void

/** A clock that only needs to run evenly; which time it shows does not matter (protocol 1). */
export interface PhoneClock {
  /** Milliseconds since any moment, never going back. */
  now(): number
  /** Acts once, after the delay in milliseconds. */
  schedule(delayMs: number, act: () => void): Cancel
}

/** The part of an AbortSignal that is used. */
export interface AbortSignalLike {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** The part of a request that is used. Redirects are refused: a token must not follow one. */
export interface RequestLike {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly redirect: 'error'
  readonly signal?: AbortSignalLike
}

/** fetch. It must reject by itself when no answer comes; 40 s leave room for the longest poll. */
export type FetchLike = (url: string, request: RequestLike) => Promise<AnswerLike>
