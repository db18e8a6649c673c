import type { EvidenceContext, SessionId, Secret } from '@bonded/contract'
import type { Nonces } from '../domain/challenge.ts'

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
  completionSecret(keyId: string, sessionId: SessionId): Secret
  /**
   * A browser presents it to watch its session. Less secret than the others: it authorizes no
   * change.
   */
  watchToken(keyId: string, sessionId: SessionId): Secret
  /** The tenant's pseudonym for a subject, for the case that none is stored yet. */
  subjectRef(tenantId: string, subjectId: string): string
  /**
   * A keyed hash of a travel document, under the active key. The document number alone is short, so
   * an unkeyed hash could be guessed.
   */
  documentRef(issuingState: string, documentNumber: string): string
  /**
   * Short keyed hashes of a device's motion, from rank patterns of 32 bits. They suffice to
   * recognize the motion, not to reveal it.
   */
  motionFingerprints(
    keyId: string,
    deviceId: string,
    rankPatterns: readonly number[],
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
  /** A registration challenge that authenticates itself: nothing is stored until it is used. */
  deviceChallenge(expiresAt: number): string
  /** The expiry of the challenge, if this service issued it. */
  deviceChallengeExpiry(challenge: string): number | undefined
  /** SHA-256 of a text, base64url. */
  sha256(text: string): string
  /** SHA-256 of a credential, as the store has it. */
  digest(credential: string): Uint8Array
  /** Constant-time equality: the only place where secrets are compared. */
  same(a: string | Uint8Array, b: string | Uint8Array): boolean
}

/** Random values in the required forms. */
export interface Random {
  /** 128 bits, for an id. */
  id(): Uint8Array
  /** Base62 digits: 43 of them are 256 bits. */
  base62(digits: 10 | 22 | 43): string
}
