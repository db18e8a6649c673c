import type { AttemptResult } from '../domain/webhooks.ts'
import type { Instant } from '../domain/session.ts'

/** Sends messages without content to push services, which wake the phones that subscribed. */
export interface PushTransport {
  /** Signs and sends one message. Never rejects: every failure is a result. */
  send(message: PushMessage, signal: AbortSignal): Promise<AttemptResult>
  /** What prevents a URL from being an endpoint of a push service; undefined if nothing does. */
  endpointProblem(endpoint: string): string | undefined
  /**
   * The name of the push service of an endpoint, one of a fixed list; undefined if it has none. A
   * push service can have many hosts.
   */
  serviceOf(endpoint: string): string | undefined
}

export interface PushMessage {
  readonly endpoint: string
  readonly key: PushKey
  /** Whom an operator of a push service can ask about the messages: a URL. */
  readonly contact: string
}

/** The key by which push services recognize the service. A subscription is bound to it. */
export interface PushKey {
  /** An uncompressed point of P-256, base64url. */
  readonly publicKey: string
  /** The `Authorization` of a message (RFC 8292). */
  authorization(message: {
    readonly endpoint: string
    readonly contact: string
    readonly now: Instant
  }): Promise<string>
}

/** Creates and opens the key. The private key itself never leaves the adapter. */
export interface PushKeys {
  /** Creates a random key. @returns the key, encrypted under every root key */
  create(): string
  /**
   * Opens a stored key. `stored` is the same key, encrypted under exactly the listed root keys.
   *
   * @returns undefined if no listed root key opens it
   */
  open(sealed: string): { readonly key: PushKey; readonly stored: string } | undefined
}
