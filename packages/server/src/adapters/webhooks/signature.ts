import {
  createHmac,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import type { WebhookMessage } from '@bonded/core/ports/webhooks'

const SECRET_BYTES = 32
/** DER before the 32 bytes of a private or a public key (RFC 8410). */
const PRIVATE_KEY_DER = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_KEY_BYTES = 32

/**
 * The headers that sign an attempt, as Standard Webhooks defines them. Several secrets give several
 * signatures, so that a receiver can change its secret at any time of a rotation.
 *
 * @param at the time of this attempt, in milliseconds
 */
export function signatureHeaders(
  { id, body, scheme, secrets }: Omit<WebhookMessage, 'url'>,
  at: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1_000))
  const content = `${id}.${timestamp}.${body}`
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => signed(content, scheme, secret)).join(' '),
  }
}

function signed(content: string, scheme: WebhookMessage['scheme'], secret: string): string {
  const key = Buffer.from(secret.slice(secret.indexOf('_') + 1), 'base64')
  const signature =
    scheme === 'v1'
      ? createHmac('sha256', key).update(content).digest()
      : sign(null, Buffer.from(content), privateKey(key))
  return `${scheme},${signature.toString('base64')}`
}

/** A new secret, and what its tenant verifies with: the secret itself, or the public key. */
export function newSecret(scheme: WebhookMessage['scheme']): { secret: string; verifier: string } {
  if (scheme === 'v1') {
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
    return { secret, verifier: secret }
  }
  const pair = generateKeyPairSync('ed25519')
  const seed = pair.privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-SECRET_BYTES)
  const publicKey = pair.publicKey
    .export({ format: 'der', type: 'spki' })
    .subarray(-PUBLIC_KEY_BYTES)
  return {
    secret: `whsk_${seed.toString('base64')}`,
    verifier: `whpk_${publicKey.toString('base64')}`,
  }
}

function privateKey(seed: Uint8Array): KeyObject {
  const key = Buffer.concat([PRIVATE_KEY_DER, seed.subarray(0, SECRET_BYTES)])
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
}
