import type { EvidenceContext, SessionId, Secret } from '@bonded/contract'
import type { Nonces } from '../domain/challenge.ts'

/**
 * All that derives from the root keys. Several may be live: the first makes, all verify. Whatever is made under
 * one remembers its id. Pure and deterministic: two nodes with the same keys make the same.
 */
export interface Keyring {
  /** The id of the key that makes. */
  readonly currentKeyId: string
  /** Whether what was made under this key can still be made again. */
  holds(keyId: string): boolean
  /** The nonces of one session. */
  nonces(keyId: string, sessionId: SessionId): Nonces
  completionSecret(keyId: string, sessionId: SessionId): Secret
  /** Shown by a browser to watch its session. Not as secret as the others: it opens nothing. */
  watchToken(keyId: string, sessionId: SessionId): Secret
  /** What a subject is called towards a tenant, where that was not stored yet. */
  subjectRef(tenantId: string, subjectId: string): string
  /** A keyed hash of a travel document, under the current key: from the number alone, which is short, nobody else can make it. */
  documentRef(issuingState: string, documentNumber: string): string
  /** Short keyed hashes of how a device was moved, from numbers of 32 bits: enough to know it again, too little to learn it. */
  motionFingerprints(
    keyId: string,
    deviceId: string,
    rankPatterns: readonly number[],
  ): readonly number[]
  /** The `signature` of an evidence summary. */
  evidenceMac(keyId: string, context: EvidenceContext, evidence: object): string
  /** A MAC of a create body, to know it again. */
  bodyMac(keyId: string, canonicalBody: string): string
  /** A phone number as it rests with its session: unreadable without the root key, and for another session. */
  sealNumber(keyId: string, sessionId: SessionId, number: string): string
  /** The number again. @throws where this is no seal of this session */
  openNumber(keyId: string, sessionId: SessionId, sealed: string): Secret
  /** A registration challenge that carries its own proof of being ours: nothing is stored until it is used. */
  deviceChallenge(expiresAt: number): string
  /** When the challenge runs out, if it is one of ours. */
  deviceChallengeExpiry(challenge: string): number | undefined
  /** SHA-256 of a text, base64url. */
  sha256(text: string): string
  /** SHA-256 of a credential, as it rests in the store. */
  digest(credential: string): Uint8Array
  /** Constant-time equality: the one place where secrets are compared. */
  same(a: string | Uint8Array, b: string | Uint8Array): boolean
}

/** Fresh randomness, already in the form wanted. */
export interface Random {
  /** 128 bits, for an id. */
  id(): Uint8Array
  /** Base62 digits: 43 of them are 256 bits. */
  base62(digits: 10 | 22 | 43): string
}
