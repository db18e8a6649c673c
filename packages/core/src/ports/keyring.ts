import type {
  DeviceId,
  EvidenceContext,
  SessionId,
  Secret,
  WebhookEndpointId,
} from '@bonded/contract'
import type { Nonces } from '../domain/challenge.ts'
import type { PushKeys } from './push.ts'

/** A node, and the number of a message among those that it has sent. */
export interface MessageSender {
  readonly node: string
  readonly number: number
}

/** A link to the portal of webhooks. */
export interface PortalLink {
  /** The id of the server credential that asked for the link. */
  readonly keyId: string
  /** The time in milliseconds since the epoch. */
  readonly expiresAt: number
}

/**
 * Everything that derives from the root keys. Several can be live: new values derive from the
 * active key, and all listed keys verify. Each derived value is stored with its key id. Pure and
 * deterministic: two nodes with the same keys derive the same values.
 */
export interface Keyring {
  /** The id of the active key. */
  readonly currentKeyId: string
  /** Whether the keyring has this key, so that values under it can be derived again. */
  holds(keyId: string): boolean
  /** The nonces of one session. */
  nonces(keyId: string, sessionId: SessionId): Nonces
  /** The same, where each device has its own: those of a session in an inbox. */
  inboxNonces(keyId: string, sessionId: SessionId, deviceId: DeviceId): Nonces
  completionSecret(keyId: string, sessionId: SessionId): Secret
  /**
   * A browser presents it to watch its session. Less secret than the others: with it, a page can
   * cancel a session that is not bonded. It approves nothing.
   */
  watchToken(keyId: string, sessionId: SessionId): Secret
  /**
   * The root key of a watch token, found without the store, so that a guess costs no read.
   *
   * @returns undefined if the token is not that of this session under any listed root key
   */
  watchTokenKeyId(sessionId: SessionId, token: string): string | undefined
  /** The tenant's pseudonym for a subject, for the case that none is stored yet. */
  subjectRef(tenantId: string, subjectId: string): string
  /**
   * A keyed hash of a travel document, under the active key. The document number alone is short, so
   * an unkeyed hash could be guessed.
   */
  documentRef(issuingState: string, documentNumber: string): string
  /**
   * Short keyed hashes of a device's motion, from patterns of up to 32 bits. They suffice to
   * recognize the motion, not to reveal it.
   */
  motionFingerprints(
    keyId: string,
    deviceId: string,
    patterns: readonly number[],
  ): readonly number[]
  /** The `signature` of an evidence summary. */
  evidenceMac(keyId: string, context: EvidenceContext, evidence: object): string
  /** A MAC of a create request's body, which identifies a retry. */
  bodyMac(keyId: string, canonicalBody: string): string
  /**
   * Encrypts a phone number for its session. It can be decrypted only with the root key and for the
   * same session.
   */
  sealNumber(keyId: string, sessionId: SessionId, number: string): string
  /** Decrypts the number. @throws if the text was not encrypted for this session */
  openNumber(keyId: string, sessionId: SessionId, sealed: string): Secret
  /**
   * Encrypts a message to the other nodes, under the active key. It can be decrypted only as the
   * message of this node with this number.
   */
  sealMessage(text: string, from: MessageSender): string
  /**
   * Decrypts a message of a node.
   *
   * @returns undefined if no listed root key opens it, or if it was sealed for another sender
   */
  openMessage(sealed: string, from: MessageSender): string | undefined
  /** Encrypts the secrets of a webhook endpoint, under the active key and for this endpoint. */
  sealWebhook(text: string, endpointId: WebhookEndpointId): string
  /** Decrypts them. Undefined if no listed root key opens them, or they are of another endpoint. */
  openWebhook(sealed: string, endpointId: WebhookEndpointId): string | undefined
  /** The token of a link to the portal of webhooks. It authenticates itself: nothing is stored. */
  portalToken(link: PortalLink): Secret
  /** What the token says, if this service issued it. */
  readPortalToken(token: string): PortalLink | undefined
  /** The key of session ids, which outlives the root keys that encrypt it. */
  readonly idKeys: IdKeys
  /** The key that signs wake-ups, which outlives them too. */
  readonly pushKeys: PushKeys
  /** A registration challenge that authenticates itself: nothing is stored until it is used. */
  deviceChallenge(expiresAt: number): string
  /** The expiry of the challenge, if this service issued it. */
  deviceChallengeExpiry(challenge: string): number | undefined
  /** A reference to an id: a MAC under a key of its own, which no root key replaces. */
  referenceOf(key: string, id: string): string
  /** SHA-256 of a text, base64url. */
  sha256(text: string): string
  /** SHA-256 of bytes, joined. */
  readonly sha256Bytes: (...parts: readonly Uint8Array[]) => Uint8Array
  /** SHA-256 of a credential, as the store has it. */
  digest(credential: string): Uint8Array
  /** Constant-time equality: the only place where secrets are compared. */
  same(a: string | Uint8Array, b: string | Uint8Array): boolean
}

/** A permutation of 16-byte blocks. Computing or inverting it requires its key. */
export interface BlockCipher {
  encrypt(block: Uint8Array): Uint8Array
  decrypt(block: Uint8Array): Uint8Array
}

/** Creates and opens the key of session ids. The key itself never leaves the adapter. */
export interface IdKeys {
  /** Creates a random key. @returns the key, encrypted under every root key */
  create(): string
  /**
   * Opens a stored key. `stored` is the same key, encrypted under exactly the listed root keys: it
   * differs from the argument after a root key was added or removed.
   *
   * @throws {IdKeyError} if no listed root key opens it
   */
  open(stored: string): { readonly cipher: BlockCipher; readonly stored: string }
}

/** The stored key of session ids cannot be opened with the listed root keys. */
export class IdKeyError extends Error {
  readonly code = 'session_id_key_unusable'
  override readonly name = 'IdKeyError'
  /**
   * `not_listed`: it is encrypted under other root keys. `wrong_key`: a listed one has other bytes.
   */
  readonly problem: 'not_listed' | 'wrong_key'
  /** The ids of the root keys that it is encrypted under. */
  readonly rootKeyIds: readonly string[]

  constructor(problem: IdKeyError['problem'], rootKeyIds: readonly string[]) {
    super(`the key of session ids cannot be opened: ${problem} ${rootKeyIds.join(', ')}`)
    this.problem = problem
    this.rootKeyIds = rootKeyIds
  }
}

/** Random values in the required forms. */
export interface Random {
  /** 128 bits, for an id. */
  id(): Uint8Array
  /** Base62 digits: 43 of them are 256 bits. */
  base62(digits: 10 | 22 | 43): string
}
