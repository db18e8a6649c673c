import {
  canonicalJson,
  encodeBase64url,
  type FullSession,
  makeId,
  RECEIPT_TYPE,
  type ReceiptClaims,
} from '@bonded/contract'
import { systemRandom } from '../clock.ts'
import { concat, sha256 } from '../receipt/phone-signature.ts'
import type { ReceiptKeySet } from '../receipt/verify-receipt.ts'
import type { StoredSession } from './test-service.ts'

const KEY_ID = 'test-key'
const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** The key of a service that signs receipts, and that of the phone. */
export interface ReceiptKeys {
  readonly service: CryptoKeyPair
  readonly phone: CryptoKeyPair
}

/** Makes keys that exist only in this process. */
export async function makeReceiptKeys(): Promise<ReceiptKeys> {
  const [service, phone] = await Promise.all([
    crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']),
    crypto.subtle.generateKey(ECDSA, true, ['sign', 'verify']),
  ])
  return { service, phone }
}

/** The content of the service's `/.well-known/jwks.json`. */
export async function keySetOf({ service }: ReceiptKeys): Promise<ReceiptKeySet> {
  const { kty, crv = '', x = '' } = await crypto.subtle.exportKey('jwk', service.publicKey)
  const key = { kty, crv, x, kid: KEY_ID, alg: 'EdDSA', use: 'sig' }
  return { keys: [key] }
}

/** A receipt of a session that is bonded or completed, signed by the phone and by the service. */
export async function signReceipt(
  keys: ReceiptKeys,
  session: FullSession,
  { created_at }: StoredSession,
): Promise<string> {
  const { server_time, state, context, workflow, action } = session
  const claims: ReceiptClaims = {
    iss: session.api_base_url,
    aud: session.tenant_id,
    iat: Math.floor(Date.parse(server_time) / 1_000),
    jti: encodeBase64url(systemRandom(16)),
    environment: 'sandbox',
    state: state === 'completed' ? 'completed' : 'bonded',
    session_id: session.id,
    workflow: workflow ?? '',
    action: action ?? '',
    context,
    tenant_name: 'Test',
    workflow_title: null,
    action_title: null,
    requesting_origin: null,
    subject_ref: session.subject_ref,
    verification: session.verification as ReceiptClaims['verification'],
    device_format: 'software',
    created_at,
    bonded_at: server_time,
    completed_at: state === 'completed' ? server_time : null,
    outcome: session.outcome,
    log_origin: `${new URL(session.api_base_url).host}/receipts/log`,
    log_delay_seconds: 60,
    phone: await signAsPhone(keys.phone, session),
  }
  const input = [{ alg: 'EdDSA', kid: KEY_ID, typ: RECEIPT_TYPE }, claims]
    .map((part) => encodeBase64url(utf8(JSON.stringify(part))))
    .join('.')
  const signature = await crypto.subtle.sign('Ed25519', keys.service.privateKey, utf8(input))
  return `${input}.${encodeBase64url(new Uint8Array(signature))}`
}

/** What the phone signs: the payload of section 5 of the protocol. */
async function signAsPhone(
  { publicKey, privateKey }: CryptoKeyPair,
  session: FullSession,
): Promise<ReceiptClaims['phone']> {
  const { id: session_id, context, tenant_id, workflow, action, nonce, server_time } = session
  const shown = context && encodeBase64url(await sha256(utf8(canonicalJson(context))))
  const payload = canonicalJson({
    typ: 'bonded-assertion/v1',
    session_id,
    tenant_id,
    workflow,
    action,
    nonce,
    origin: session.api_base_url,
    context: shown,
    device_id: makeId('dev', systemRandom(16)),
    subject_id: makeId('sub', systemRandom(16)),
    issued_at: server_time,
    evidence: encodeBase64url(systemRandom(32)),
  })
  // Section 5 of the protocol: the app of a software key, the flags, and a counter.
  const app = await sha256(utf8('software'))
  const authenticatorData = concat(app, Uint8Array.of(5, 0, 0, 0, 1))
  const signed = concat(authenticatorData, await sha256(utf8(payload)))
  const raw = new Uint8Array(await crypto.subtle.sign(ECDSA, privateKey, signed))
  const spki = new Uint8Array(await crypto.subtle.exportKey('spki', publicKey))
  return {
    format: 'software',
    public_key: encodeBase64url(spki),
    payload,
    authenticator_data: encodeBase64url(authenticatorData),
    signature: encodeBase64url(toDer(raw)),
  }
}

/** An ECDSA signature of Web Crypto, r and s with 32 bytes each, in DER. */
function toDer(raw: Uint8Array): Uint8Array {
  const numbers = [raw.subarray(0, 32), raw.subarray(32)].flatMap((half) => {
    const first = half.findIndex((byte) => byte !== 0)
    const digits = [...half.subarray(first)]
    // A leading zero keeps the number positive.
    if ((digits[0] ?? 0) > 0x7f) digits.unshift(0)
    return [0x02, digits.length, ...digits]
  })
  return Uint8Array.of(0x30, numbers.length, ...numbers)
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}
