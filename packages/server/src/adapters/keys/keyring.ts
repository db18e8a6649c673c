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
import { decodeBase64url, Secret } from '@bonded/contract'
import type { RootKey } from '@bonded/core/domain/root-keys'
import { deriveKeys, type Hashing, type Purpose } from '@bonded/core/ports/derived-keys'
import type { Keyring, MessageSender } from '@bonded/core/ports/keyring'
import { pushKeys } from './push-key.ts'
import { seal, unseal } from './seal.ts'
import { sessionIdKeys } from './session-id-key.ts'

const EXPIRY_BYTES = 6
const SALT_BYTES = 10
/** The id of a server credential, in ASCII. */
const KEY_ID_BYTES = 10
const BODY_MAC_BYTES = 16
const BLOCK_BYTES = 16
const PATTERN_BYTES = 4
/**
 * Short enough that many movements share each fingerprint, so that it reveals none. Long enough
 * that the few hundred fingerprints of a phone rarely collide by chance.
 */
const MARK_BYTES = 3

/** Hash and MAC of node:crypto. */
const nodeHashing: Hashing<KeyObject> = {
  derive: (root, salt, info) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', root, salt, info, 32))),
  mac: (key, text) => createHmac('sha256', key).update(text).digest('base64url'),
  sha256: (text) => hash('sha256', text, 'base64url'),
  same,
}

/**
 * The keyring over node:crypto.
 *
 * @param rootKeys the first one is active; all of them verify
 * @throws {RangeError} without a root key
 */
// oxlint-disable-next-line max-lines-per-function -- short methods over the same keys
export function keyringOf(rootKeys: readonly RootKey[]): Keyring {
  const { keyFor, allOf, derivations } = deriveKeys(rootKeys, nodeHashing)
  const { currentKeyId, holds } = derivations
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
    if (!holds(keyId)) return undefined
    try {
      return unseal(keyFor(keyId, purpose), text, contextOf(keyId))
    } catch {
      return undefined
    }
  }
  const bodyMacOf = (keyId: string, purpose: Purpose, body: Uint8Array) =>
    createHmac('sha256', keyFor(keyId, purpose)).update(body).digest().subarray(0, BODY_MAC_BYTES)
  /** Signs a text of bytes that begins with the time at which it expires. */
  const signBody = (purpose: Purpose, expiresAt: number, rest: Uint8Array) => {
    const body = Buffer.concat([Buffer.alloc(EXPIRY_BYTES), rest])
    body.writeUIntBE(expiresAt, 0, EXPIRY_BYTES)
    return Buffer.concat([body, bodyMacOf(currentKeyId, purpose, body)]).toString('base64url')
  }
  /** Reads what `signBody` signed; undefined unless a listed root key signed it. */
  const readBody = (purpose: Purpose, text: string, restBytes: number) => {
    // The decoder is strict: a challenge with two encodings could be used twice.
    const decoded = decodeBase64url(text)
    if (decoded?.length !== EXPIRY_BYTES + restBytes + BODY_MAC_BYTES) return undefined
    const bytes = Buffer.from(decoded.buffer)
    const body = bytes.subarray(0, EXPIRY_BYTES + restBytes)
    const presented = bytes.subarray(body.length)
    const isSigned = rootKeys.some(({ id }) => same(bodyMacOf(id, purpose, body), presented))
    if (!isSigned) return undefined
    return { expiresAt: body.readUIntBE(0, EXPIRY_BYTES), rest: body.subarray(EXPIRY_BYTES) }
  }

  return {
    ...derivations,
    sealNumber: (keyId, sessionId, number) =>
      seal(keyFor(keyId, 'phone-number'), number, sessionId),
    openNumber: (keyId, sessionId, sealed) =>
      new Secret(unseal(keyFor(keyId, 'phone-number'), sealed, sessionId)),
    sealMessage: (text, from) => {
      const key = keyFor(currentKeyId, 'node-messages')
      return `${currentKeyId}:${seal(key, text, messageContext(currentKeyId, from))}`
    },
    openMessage: (sealed, from) =>
      open(sealed, 'node-messages', (keyId) => messageContext(keyId, from)),
    sealWebhook: (text, endpointId) =>
      `${currentKeyId}:${seal(keyFor(currentKeyId, 'webhooks'), text, endpointId)}`,
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
    deviceChallenge: (expiresAt) =>
      signBody('device-challenge', expiresAt, randomBytes(SALT_BYTES)),
    deviceChallengeExpiry: (challenge) =>
      readBody('device-challenge', challenge, SALT_BYTES)?.expiresAt,
    portalToken({ keyId, expiresAt }) {
      const id = Buffer.from(keyId, 'latin1')
      return new Secret(`wpt_${signBody('webhook-portal', expiresAt, id)}`)
    },
    readPortalToken(token) {
      const read = readBody('webhook-portal', token.slice('wpt_'.length), KEY_ID_BYTES)
      return read && { keyId: read.rest.toString('latin1'), expiresAt: read.expiresAt }
    },
    referenceOf: (key, id) => createHmac('sha256', key).update(id).digest('base64url'),
    sha256Bytes: (...parts) => hash('sha256', Buffer.concat(parts), 'buffer'),
    // Via a string: Node creates one of 32 bytes at half the cost of a Buffer.
    digest: (credential) => Buffer.from(hash('sha256', credential, 'binary'), 'binary'),
    same,
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
