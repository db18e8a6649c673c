import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { evidenceMacInput } from '@bonded/contract'
import { Secret } from '../../domain/secret.ts'
import type { Keyring } from '../../ports/keyring.ts'
import type { RootKey } from './root-keys.ts'
import { seal, unseal } from './seal.ts'

const SALT = 'bonded-sessions/v1'
const PURPOSES = ['nonce', 'completion', 'watch', 'evidence', 'pairwise', 'device-challenge', 'idempotency', 'phone-number', 'document'] as const
type Purpose = (typeof PURPOSES)[number]

const EXPIRY_BYTES = 6
const SALT_BYTES = 10
const CHALLENGE_MAC_BYTES = 16

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
  // A session's nonce, watch token and completion secret are asked for at almost every call on it.
  const sessionMac = keepingLatest((keyId: string, purpose: Purpose, text: string) => mac(keyId, purpose, text).toString('base64url'))
  const challengeMac = (keyId: string, body: Uint8Array) => mac(keyId, 'device-challenge', body).subarray(0, CHALLENGE_MAC_BYTES)

  return {
    currentKeyId: current.id,
    holds: (keyId) => derived.has(keyId),
    nonces: (keyId, sessionId) => ({
      nonceAt: (index) => sessionMac(keyId, 'nonce', `${sessionId}.${index}`),
      stepNonceAt: (n) => sessionMac(keyId, 'nonce', `${sessionId}.s${n}`),
      sameText: same,
    }),
    completionSecret: (keyId, sessionId) => new Secret(`bcs_${sessionMac(keyId, 'completion', sessionId)}`),
    watchToken: (keyId, sessionId) => new Secret(`bwt_${sessionMac(keyId, 'watch', sessionId)}`),
    subjectRef: (tenantId, subjectId) => mac(current.id, 'pairwise', `${tenantId}\n${subjectId}`).toString('base64url'),
    documentRef: (issuingState, documentNumber) => mac(current.id, 'document', `${issuingState}\n${documentNumber}`).toString('base64url'),
    evidenceMac: (keyId, context, evidence) => mac(keyId, 'evidence', evidenceMacInput(context, evidence)).toString('base64url'),
    bodyMac: (keyId, canonicalBody) => mac(keyId, 'idempotency', canonicalBody).toString('base64url'),
    sealNumber: (keyId, sessionId, number) => seal(keyFor(keyId, 'phone-number'), number, sessionId),
    openNumber: (keyId, sessionId, sealed) => new Secret(unseal(keyFor(keyId, 'phone-number'), sealed, sessionId)),
    deviceChallenge(expiresAt) {
      const body = Buffer.alloc(EXPIRY_BYTES + SALT_BYTES)
      body.writeUIntBE(expiresAt, 0, EXPIRY_BYTES)
      randomBytes(SALT_BYTES).copy(body, EXPIRY_BYTES)
      return Buffer.concat([body, challengeMac(current.id, body)]).toString('base64url')
    },
    deviceChallengeExpiry(challenge) {
      const bytes = Buffer.from(challenge, 'base64url')
      if (bytes.length !== EXPIRY_BYTES + SALT_BYTES + CHALLENGE_MAC_BYTES) return undefined
      const body = bytes.subarray(0, EXPIRY_BYTES + SALT_BYTES)
      const shown = bytes.subarray(EXPIRY_BYTES + SALT_BYTES)
      const ours = rootKeys.some(({ id }) => same(challengeMac(id, body), shown))
      return ours ? body.readUIntBE(0, EXPIRY_BYTES) : undefined
    },
    sha256: (text) => hash('sha256', text, 'base64url'),
    digest: (credential) => hash('sha256', credential, 'buffer'),
    same,
  }
}

/** A few hundred sessions at once, a few texts each; about 1 MB. */
const MAX_KEPT = 4_000

/** The function with its latest results kept. They are as secret as the root keys that lie beside them in memory. */
function keepingLatest(make: (keyId: string, purpose: Purpose, text: string) => string): typeof make {
  let latest = new Map<string, string>()
  let older = new Map<string, string>()
  return (keyId, purpose, text) => {
    const name = `${keyId} ${purpose} ${text}`
    const known = latest.get(name) ?? older.get(name) ?? make(keyId, purpose, text)
    // Two halves: when the newer one is full, the older one goes as a whole. No bookkeeping at each call.
    if (latest.size >= MAX_KEPT / 2) {
      older = latest
      latest = new Map()
    }
    latest.set(name, known)
    return known
  }
}

/** Equal length is not a secret here; where they differ is. */
function same(a: string | Uint8Array, b: string | Uint8Array): boolean {
  const left = typeof a === 'string' ? Buffer.from(a) : a
  const right = typeof b === 'string' ? Buffer.from(b) : b
  return left.length === right.length && timingSafeEqual(left, right)
}

function deriveAll(root: Uint8Array): Record<Purpose, KeyObject> {
  const derive = (purpose: Purpose) => createSecretKey(Buffer.from(hkdfSync('sha256', root, SALT, purpose, 32)))
  return Object.fromEntries(PURPOSES.map((purpose) => [purpose, derive(purpose)])) as Record<Purpose, KeyObject>
}
