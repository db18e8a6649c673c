import { evidenceMacInput, type SessionId, Secret } from '@bonded/contract'
import { GenerationCache } from '../collections/generation-cache.ts'
import type { RootKey } from '../domain/root-keys.ts'
import type { Keyring } from './keyring.ts'

const SALT = 'bonded-sessions/v1'
/** The keys of texts about a session or a name, of texts with an expiry, and of encryption. */
const SESSION_PURPOSES = ['nonce', 'completion', 'watch', 'evidence'] as const
const NAME_PURPOSES = ['pairwise', 'document', 'idempotency', 'motion'] as const
const EXPIRY_PURPOSES = ['device-challenge', 'webhook-portal'] as const
const SEAL_PURPOSES = ['phone-number', 'session-ids', 'node-messages', 'webhooks', 'push'] as const
const PURPOSES = [...SESSION_PURPOSES, ...NAME_PURPOSES, ...EXPIRY_PURPOSES, ...SEAL_PURPOSES]
/** A use of a root key, which has a key of its own. */
export type Purpose = (typeof PURPOSES)[number]

/**
 * Hash and MAC of a platform, from which everything under the root keys derives. A `Key` has the
 * form in which the platform computes a MAC fastest.
 */
export interface Hashing<Key> {
  /** 32 bytes of HKDF-SHA256 (RFC 5869) over a root key. */
  readonly derive: (root: Uint8Array, salt: string, info: string) => Key
  /** HMAC-SHA256 of a text in UTF-8, base64url. */
  readonly mac: (key: Key, text: string) => string
  /** SHA-256 of a text in UTF-8, base64url. */
  readonly sha256: (text: string) => string
  /** Constant-time equality. */
  readonly same: (a: string, b: string) => boolean
}

/**
 * Derives keys and texts from the root keys. It creates the keys once, because creating one costs
 * more than the MAC it is used for.
 *
 * @param rootKeys the first one is active; all of them verify
 * @throws {RangeError} without a root key
 */
// oxlint-disable-next-line max-lines-per-function -- short methods over the same keys
export function deriveKeys<Key>(rootKeys: readonly RootKey[], hashing: Hashing<Key>) {
  const keysOf = (root: Uint8Array) =>
    new Map(PURPOSES.map((purpose) => [purpose, hashing.derive(root, SALT, purpose)]))
  const derived = new Map(rootKeys.map(({ id, bytes }) => [id, keysOf(bytes)]))
  const [active] = rootKeys
  if (active === undefined) throw new RangeError('a keyring needs at least one root key')

  const keyFor = (keyId: string, purpose: Purpose): Key => {
    const key = derived.get(keyId)?.get(purpose)
    if (key === undefined) throw new RangeError(`there is no root key ${keyId}`)
    return key
  }
  const textMac = (keyId: string, of: Purpose, text: string) => hashing.mac(keyFor(keyId, of), text)
  const watchTokenOf = (keyId: string, sessionId: SessionId) =>
    `bwt_${textMac(keyId, 'watch', sessionId)}`
  // Almost every call on a session uses these texts.
  const cachedTexts = new GenerationCache<SessionId, SessionTexts>(MAX_CACHED_SESSIONS)
  const textsOf = (keyId: string, sessionId: SessionId): SessionTexts => {
    const cached = cachedTexts.get(sessionId)
    if (cached?.keyId === keyId) return cached
    // Texts of another root key replace those of a session.
    const texts = { keyId, completion: undefined, watch: undefined, nonces: [], stepNonces: [] }
    cachedTexts.set(sessionId, texts)
    return texts
  }
  const noncesOf = (keyId: string, sessionId: SessionId) => {
    const { nonces, stepNonces } = textsOf(keyId, sessionId)
    return {
      nonceAt: (index: number) =>
        (nonces[index] ??= textMac(keyId, 'nonce', `${sessionId}.${index}`)),
      stepNonceAt: (n: number) => (stepNonces[n] ??= textMac(keyId, 'nonce', `${sessionId}.s${n}`)),
      sameText: hashing.same,
    }
  }

  const derivations = {
    currentKeyId: active.id,
    holds: (keyId) => derived.has(keyId),
    nonces: noncesOf,
    inboxNonces: (keyId, sessionId, deviceId) => ({
      ...noncesOf(keyId, sessionId),
      nonceAt: (index) => textMac(keyId, 'nonce', `${sessionId}.i${deviceId}.${index}`),
    }),
    completionSecret(keyId, sessionId) {
      const texts = textsOf(keyId, sessionId)
      return new Secret((texts.completion ??= `bcs_${textMac(keyId, 'completion', sessionId)}`))
    },
    watchToken(keyId, sessionId) {
      const texts = textsOf(keyId, sessionId)
      return new Secret((texts.watch ??= watchTokenOf(keyId, sessionId)))
    },
    // Not from the cached texts: guesses about unknown sessions would replace those of real ones.
    watchTokenKeyId: (sessionId, token) =>
      rootKeys.find(({ id }) => hashing.same(watchTokenOf(id, sessionId), token))?.id,
    subjectRef: (tenantId, subjectId) =>
      textMac(active.id, 'pairwise', `${tenantId}\n${subjectId}`),
    documentRef: (issuingState, documentNumber) =>
      textMac(active.id, 'document', `${issuingState}\n${documentNumber}`),
    evidenceMac: (keyId, context, evidence) =>
      textMac(keyId, 'evidence', evidenceMacInput(context, evidence)),
    bodyMac: (keyId, canonicalBody) => textMac(keyId, 'idempotency', canonicalBody),
    sha256: hashing.sha256,
  } satisfies Partial<Keyring>
  /** The key of a purpose, for the id of each root key. */
  const allOf = (purpose: Purpose): ReadonlyMap<string, Key> =>
    new Map(rootKeys.map(({ id }) => [id, keyFor(id, purpose)]))
  return { keyFor, allOf, derivations }
}

/** Texts derived for one session, each on its first use. They are as secret as the root keys. */
interface SessionTexts {
  readonly keyId: string
  completion: string | undefined
  watch: string | undefined
  /** Indexed by challenge and by step. A session has a few dozen at most. */
  readonly nonces: string[]
  readonly stepNonces: string[]
}

/** The sessions whose texts are cached; about 1 MB. */
const MAX_CACHED_SESSIONS = 1_000
