import {
  type Cipheriv,
  createCipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { decodeBase64url, evidenceMacInput, type SessionId, Secret } from '@bonded/contract'
import type { Keyring, MessageSender } from '@bonded/core/ports/keyring'
import type { RootKey } from '@bonded/core/domain/root-keys'
import { pushKeys } from './push-key.ts'
import { seal, unseal } from './seal.ts'
import { sessionIdKeys } from './session-id-key.ts'

const SALT = 'bonded-sessions/v1'
const PURPOSES = [
  'nonce',
  'completion',
  'watch',
  'evidence',
  'pairwise',
  'device-challenge',
  'idempotency',
  'phone-number',
  'document',
  'motion',
  'session-ids',
  'node-messages',
  'webhooks',
  'webhook-portal',
  'push',
] as const
type Purpose = (typeof PURPOSES)[number]

const EXPIRY_BYTES = 6
const SALT_BYTES = 10
const CHALLENGE_MAC_BYTES = 16
/** The id of a server credential, in ASCII. */
const KEY_ID_BYTES = 10
const PORTAL_MAC_BYTES = 16
const BLOCK_BYTES = 16
const PATTERN_BYTES = 4
/**
 * Short enough that many movements share each fingerprint, so that it reveals none. Long enough
 * that the few hundred fingerprints of a phone rarely collide by chance.
 */
const MARK_BYTES = 3

/**
 * The keyring over node:crypto. It creates key objects once, because creating one costs more than
 * the MAC it is used for.
 *
 * @param rootKeys the first one is active; all of them verify
 * @throws {RangeError} without a root key
 */
// oxlint-disable-next-line max-lines-per-function -- short methods over the same keys
export function keyringOf(rootKeys: readonly RootKey[]): Keyring {
  const derived = new Map(rootKeys.map(({ id, bytes }) => [id, deriveAll(bytes)]))
  const [active] = rootKeys
  if (active === undefined) throw new RangeError('a keyring needs at least one root key')

  const keyFor = (keyId: string, purpose: Purpose): KeyObject => {
    const key = derived.get(keyId)?.[purpose]
    if (key === undefined) throw new RangeError(`there is no root key ${keyId}`)
    return key
  }
  /** The key of a purpose, for the id of each root key. */
  const allOf = (purpose: Purpose) => new Map([...derived].map(([id, keys]) => [id, keys[purpose]]))
  const mac = (keyId: string, purpose: Purpose, text: string | Uint8Array): Buffer =>
    createHmac('sha256', keyFor(keyId, purpose)).update(text).digest()
  const textMac = (keyId: string, purpose: Purpose, text: string): string =>
    createHmac('sha256', keyFor(keyId, purpose)).update(text).digest('base64url')
  const watchTokenOf = (keyId: string, sessionId: SessionId) =>
    `bwt_${textMac(keyId, 'watch', sessionId)}`
  // Almost every call on a session uses these texts.
  const textsOf = cacheSessionTexts(
    (keyId: string): SessionTexts => ({
      keyId,
      completion: undefined,
      watch: undefined,
      nonces: [],
      stepNonces: [],
    }),
  )
  // AES of one block is a keyed hash at a tenth of the cost of a MAC. ECB has no state between
  // blocks, so one cipher object serves every call.
  const markCiphers = new Map<string, Cipheriv>()
  const markCipher = (keyId: string): Cipheriv => {
    const cached = markCiphers.get(keyId)
    if (cached !== undefined) return cached
    const key = keyFor(keyId, 'motion').export().subarray(0, BLOCK_BYTES)
    const cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false)
    markCiphers.set(keyId, cipher)
    return cipher
  }
  /** Opens a text that names its root key; undefined if no listed root key opens it. */
  const open = (sealed: string, purpose: Purpose, contextOf: (keyId: string) => string) => {
    const [keyId = '', text = ''] = sealed.split(':')
    if (!derived.has(keyId)) return undefined
    try {
      return unseal(keyFor(keyId, purpose), text, contextOf(keyId))
    } catch {
      return undefined
    }
  }
  const challengeMac = (keyId: string, body: Uint8Array) =>
    mac(keyId, 'device-challenge', body).subarray(0, CHALLENGE_MAC_BYTES)

  const portalMac = (keyId: string, body: Uint8Array) =>
    mac(keyId, 'webhook-portal', body).subarray(0, PORTAL_MAC_BYTES)

  const noncesOf = (keyId: string, sessionId: SessionId) => {
    const { nonces, stepNonces } = textsOf(keyId, sessionId)
    return {
      nonceAt: (index: number) =>
        (nonces[index] ??= textMac(keyId, 'nonce', `${sessionId}.${index}`)),
      stepNonceAt: (n: number) => (stepNonces[n] ??= textMac(keyId, 'nonce', `${sessionId}.s${n}`)),
      sameText: same,
    }
  }

  return {
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
      rootKeys.find(({ id }) => same(watchTokenOf(id, sessionId), token))?.id,
    subjectRef: (tenantId, subjectId) =>
      textMac(active.id, 'pairwise', `${tenantId}\n${subjectId}`),
    documentRef: (issuingState, documentNumber) =>
      textMac(active.id, 'document', `${issuingState}\n${documentNumber}`),
    evidenceMac: (keyId, context, evidence) =>
      textMac(keyId, 'evidence', evidenceMacInput(context, evidence)),
    bodyMac: (keyId, canonicalBody) => textMac(keyId, 'idempotency', canonicalBody),
    sealNumber: (keyId, sessionId, number) =>
      seal(keyFor(keyId, 'phone-number'), number, sessionId),
    openNumber: (keyId, sessionId, sealed) =>
      new Secret(unseal(keyFor(keyId, 'phone-number'), sealed, sessionId)),
    sealMessage: (text, from) => {
      const key = keyFor(active.id, 'node-messages')
      return `${active.id}:${seal(key, text, messageContext(active.id, from))}`
    },
    openMessage: (sealed, from) =>
      open(sealed, 'node-messages', (keyId) => messageContext(keyId, from)),
    sealWebhook: (text, endpointId) =>
      `${active.id}:${seal(keyFor(active.id, 'webhooks'), text, endpointId)}`,
    openWebhook: (sealed, endpointId) => open(sealed, 'webhooks', () => endpointId),
    motionFingerprints(keyId, deviceId, patterns) {
      // Each block is the device id and one pattern. Blocks of two devices differ, so their
      // fingerprints are unrelated.
      const block = Buffer.alloc(BLOCK_BYTES)
      block.write(deviceId.slice(PATTERN_BYTES - BLOCK_BYTES), 'latin1')
      const blocks = Buffer.alloc(patterns.length * BLOCK_BYTES, block)
      let at = BLOCK_BYTES - PATTERN_BYTES
      for (const pattern of patterns) {
        blocks.writeUInt32BE(pattern, at)
        at += BLOCK_BYTES
      }
      const hashed = markCipher(keyId).update(blocks)
      return patterns.map((_, index) => hashed.readUIntBE(index * BLOCK_BYTES, MARK_BYTES))
    },
    idKeys: sessionIdKeys(allOf('session-ids')),
    pushKeys: pushKeys(allOf('push')),
    deviceChallenge(expiresAt) {
      const body = Buffer.alloc(EXPIRY_BYTES + SALT_BYTES)
      body.writeUIntBE(expiresAt, 0, EXPIRY_BYTES)
      randomBytes(SALT_BYTES).copy(body, EXPIRY_BYTES)
      return Buffer.concat([body, challengeMac(active.id, body)]).toString('base64url')
    },
    deviceChallengeExpiry(challenge) {
      // The decoder is strict: a challenge with two encodings could be used twice.
      const decoded = decodeBase64url(challenge)
      if (decoded === undefined) return undefined
      const bytes = Buffer.from(decoded.buffer)
      if (bytes.length !== EXPIRY_BYTES + SALT_BYTES + CHALLENGE_MAC_BYTES) return undefined
      const body = bytes.subarray(0, EXPIRY_BYTES + SALT_BYTES)
      const presented = bytes.subarray(EXPIRY_BYTES + SALT_BYTES)
      const isAuthentic = rootKeys.some(({ id }) => same(challengeMac(id, body), presented))
      return isAuthentic ? body.readUIntBE(0, EXPIRY_BYTES) : undefined
    },
    portalToken({ keyId, expiresAt }) {
      const body = Buffer.alloc(EXPIRY_BYTES + KEY_ID_BYTES)
      body.writeUIntBE(expiresAt, 0, EXPIRY_BYTES)
      body.write(keyId, EXPIRY_BYTES, 'latin1')
      const signed = Buffer.concat([body, portalMac(active.id, body)])
      return new Secret(`wpt_${signed.toString('base64url')}`)
    },
    readPortalToken(token) {
      const decoded = decodeBase64url(token.slice('wpt_'.length))
      if (decoded?.length !== EXPIRY_BYTES + KEY_ID_BYTES + PORTAL_MAC_BYTES) return undefined
      const bytes = Buffer.from(decoded.buffer)
      const body = bytes.subarray(0, EXPIRY_BYTES + KEY_ID_BYTES)
      const presented = bytes.subarray(body.length)
      if (!rootKeys.some(({ id }) => same(portalMac(id, body), presented))) return undefined
      const expiresAt = body.readUIntBE(0, EXPIRY_BYTES)
      return { keyId: body.toString('latin1', EXPIRY_BYTES), expiresAt }
    },
    sha256: (text) => hash('sha256', text, 'base64url'),
    referenceOf: (key, id) => createHmac('sha256', key).update(id).digest('base64url'),
    sha256Bytes: (...parts) => hash('sha256', Buffer.concat(parts), 'buffer'),
    // Via a string: Node creates one of 32 bytes at half the cost of a Buffer.
    digest: (credential) => Buffer.from(hash('sha256', credential, 'binary'), 'binary'),
    same,
  }
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

/** Caches the texts of recent sessions. Texts of another root key replace those of a session. */
function cacheSessionTexts(
  begin: (keyId: string) => SessionTexts,
): (keyId: string, sessionId: SessionId) => SessionTexts {
  let newer = new Map<SessionId, SessionTexts>()
  let older = new Map<SessionId, SessionTexts>()
  return (keyId, sessionId) => {
    const recent = newer.get(sessionId)
    if (recent?.keyId === keyId) return recent
    const earlier = older.get(sessionId)
    const texts = earlier?.keyId === keyId ? earlier : begin(keyId)
    // Two generations: when the newer one is full, the older one is dropped as a whole, so that a
    // call needs no bookkeeping.
    if (newer.size >= MAX_CACHED_SESSIONS / 2) {
      older = newer
      newer = new Map()
    }
    newer.set(sessionId, texts)
    return texts
  }
}

/** An id and a number contain no line break, so two senders never have the same context. */
function messageContext(keyId: string, { node, number }: MessageSender): string {
  return `${keyId}\n${node}\n${number}`
}

/** Compares in constant time. The lengths are not secret. */
function same(a: string | Uint8Array, b: string | Uint8Array): boolean {
  const left = typeof a === 'string' ? Buffer.from(a) : a
  const right = typeof b === 'string' ? Buffer.from(b) : b
  return left.length === right.length && timingSafeEqual(left, right)
}

function deriveAll(root: Uint8Array): Record<Purpose, KeyObject> {
  const derive = (purpose: Purpose) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', root, SALT, purpose, 32)))
  return Object.fromEntries(PURPOSES.map((purpose) => [purpose, derive(purpose)])) as Record<
    Purpose,
    KeyObject
  >
}
