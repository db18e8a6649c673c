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
import type { Keyring } from '../../ports/keyring.ts'
import type { RootKey } from './root-keys.ts'
import { seal, unseal } from './seal.ts'

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
] as const
type Purpose = (typeof PURPOSES)[number]

const EXPIRY_BYTES = 6
const SALT_BYTES = 10
const CHALLENGE_MAC_BYTES = 16
const BLOCK_BYTES = 16
const ORDER_BYTES = 4
/** Of the few hundred marks of a phone two are hardly ever the same by chance, and many movements share each. */
const MARK_BYTES = 3

/** The keyring over node:crypto. Key objects are made once: making one costs more than the MAC it is used for. */
export function keyringOf(rootKeys: readonly RootKey[]): Keyring {
  const derived = new Map(rootKeys.map(({ id, bytes }) => [id, deriveAll(bytes)]))
  const [current] = rootKeys
  if (current === undefined) throw new RangeError('a keyring needs at least one root key')

  const keyFor = (keyId: string, purpose: Purpose): KeyObject => {
    const key = derived.get(keyId)?.[purpose]
    if (key === undefined) throw new RangeError(`there is no root key ${keyId}`)
    return key
  }
  const mac = (keyId: string, purpose: Purpose, text: string | Uint8Array): Buffer =>
    createHmac('sha256', keyFor(keyId, purpose)).update(text).digest()
  const textMac = (keyId: string, purpose: Purpose, text: string): string =>
    createHmac('sha256', keyFor(keyId, purpose)).update(text).digest('base64url')
  // They are asked for at almost every call on a session.
  const textsOf = keepingLatest(
    (keyId: string): SessionTexts => ({
      keyId,
      completion: undefined,
      watch: undefined,
      nonces: [],
      stepNonces: [],
    }),
  )
  // A block cipher is a keyed hash of one block, at a tenth of a MAC's work. Block by block it remembers nothing, so one serves for ever.
  const markCiphers = new Map<string, Cipheriv>()
  const markCipher = (keyId: string): Cipheriv => {
    const made = markCiphers.get(keyId)
    if (made !== undefined) return made
    const key = keyFor(keyId, 'motion').export().subarray(0, BLOCK_BYTES)
    const cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false)
    markCiphers.set(keyId, cipher)
    return cipher
  }
  const challengeMac = (keyId: string, body: Uint8Array) =>
    mac(keyId, 'device-challenge', body).subarray(0, CHALLENGE_MAC_BYTES)

  return {
    currentKeyId: current.id,
    holds: (keyId) => derived.has(keyId),
    nonces(keyId, sessionId) {
      const { nonces, stepNonces } = textsOf(keyId, sessionId)
      return {
        nonceAt: (index) => (nonces[index] ??= textMac(keyId, 'nonce', `${sessionId}.${index}`)),
        stepNonceAt: (n) => (stepNonces[n] ??= textMac(keyId, 'nonce', `${sessionId}.s${n}`)),
        sameText: same,
      }
    },
    completionSecret(keyId, sessionId) {
      const texts = textsOf(keyId, sessionId)
      return new Secret((texts.completion ??= `bcs_${textMac(keyId, 'completion', sessionId)}`))
    },
    watchToken(keyId, sessionId) {
      const texts = textsOf(keyId, sessionId)
      return new Secret((texts.watch ??= `bwt_${textMac(keyId, 'watch', sessionId)}`))
    },
    subjectRef: (tenantId, subjectId) =>
      textMac(current.id, 'pairwise', `${tenantId}\n${subjectId}`),
    documentRef: (issuingState, documentNumber) =>
      textMac(current.id, 'document', `${issuingState}\n${documentNumber}`),
    evidenceMac: (keyId, context, evidence) =>
      textMac(keyId, 'evidence', evidenceMacInput(context, evidence)),
    bodyMac: (keyId, canonicalBody) => textMac(keyId, 'idempotency', canonicalBody),
    sealNumber: (keyId, sessionId, number) =>
      seal(keyFor(keyId, 'phone-number'), number, sessionId),
    openNumber: (keyId, sessionId, sealed) =>
      new Secret(unseal(keyFor(keyId, 'phone-number'), sealed, sessionId)),
    motionMarks(keyId, deviceId, orders) {
      // A block holds whose phone it was and one order. Two phones' blocks differ, so their marks have nothing in common.
      const phone = Buffer.from(deviceId.slice(ORDER_BYTES - BLOCK_BYTES), 'latin1')
      const blocks = Buffer.alloc(orders.length * BLOCK_BYTES)
      for (const [at, order] of orders.entries())
        blocks.writeUInt32BE(order, phone.copy(blocks, at * BLOCK_BYTES) + at * BLOCK_BYTES)
      const hashed = markCipher(keyId).update(blocks)
      return orders.map((_, at) => hashed.readUIntBE(at * BLOCK_BYTES, MARK_BYTES))
    },
    deviceChallenge(expiresAt) {
      const body = Buffer.alloc(EXPIRY_BYTES + SALT_BYTES)
      body.writeUIntBE(expiresAt, 0, EXPIRY_BYTES)
      randomBytes(SALT_BYTES).copy(body, EXPIRY_BYTES)
      return Buffer.concat([body, challengeMac(current.id, body)]).toString('base64url')
    },
    deviceChallengeExpiry(challenge) {
      // Strictly: a challenge that could be spelt in two ways could be used twice.
      const decoded = decodeBase64url(challenge)
      if (decoded === undefined) return undefined
      const bytes = Buffer.from(decoded.buffer)
      if (bytes.length !== EXPIRY_BYTES + SALT_BYTES + CHALLENGE_MAC_BYTES) return undefined
      const body = bytes.subarray(0, EXPIRY_BYTES + SALT_BYTES)
      const shown = bytes.subarray(EXPIRY_BYTES + SALT_BYTES)
      const ours = rootKeys.some(({ id }) => same(challengeMac(id, body), shown))
      return ours ? body.readUIntBE(0, EXPIRY_BYTES) : undefined
    },
    sha256: (text) => hash('sha256', text, 'base64url'),
    // By way of a text: Node makes one of 32 bytes at half the price of a buffer.
    digest: (credential) => Buffer.from(hash('sha256', credential, 'latin1'), 'latin1'),
    same,
  }
}

/** What derives for one session, as far as it was asked for. As secret as the root keys that lie beside it in memory. */
interface SessionTexts {
  readonly keyId: string
  completion: string | undefined
  watch: string | undefined
  /** By their index, and by their step. A session shows a few dozen at most. */
  readonly nonces: string[]
  readonly stepNonces: string[]
}

/** Sessions of which the texts are kept; about 1 MB. */
const MAX_KEPT = 1_000

/** The latest sessions' texts, kept. A session has one root key; asked for under another, they begin anew. */
function keepingLatest(
  begin: (keyId: string) => SessionTexts,
): (keyId: string, sessionId: SessionId) => SessionTexts {
  let latest = new Map<SessionId, SessionTexts>()
  let older = new Map<SessionId, SessionTexts>()
  return (keyId, sessionId) => {
    const young = latest.get(sessionId)
    if (young?.keyId === keyId) return young
    const old = older.get(sessionId)
    const texts = old?.keyId === keyId ? old : begin(keyId)
    // Two halves: when the newer one is full, the older one goes as a whole. No bookkeeping at each call.
    if (latest.size >= MAX_KEPT / 2) {
      older = latest
      latest = new Map()
    }
    latest.set(sessionId, texts)
    return texts
  }
}

/** Equal length is not a secret here; where they differ is. */
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
