import {
  canonicalJson,
  decodeBase64url,
  describeFailure,
  encodeBase64url,
  firstMismatch,
  RECEIPT_TYPE,
  ReceiptClaims,
} from '@bonded/contract'
import { GateError } from '../errors.ts'
import type { Checkpoint } from './checkpoint.ts'
import { isSignedByPhone, objectIn, sha256 } from './phone-signature.ts'
import { type LogRejectReason, verifyInclusion } from './verify-log.ts'

/** The keys of a service, from its `/.well-known/jwks.json`. Keep a copy with your receipts. */
export interface ReceiptKeySet {
  readonly keys: readonly { readonly kid?: string; readonly x?: string; readonly crv?: string }[]
}

/** A receipt and the inputs of its verification. */
export interface ReceiptToVerify {
  /** The compact JWS. */
  readonly receipt: string
  readonly jwks: ReceiptKeySet
  /** The service that must have issued it, such as `https://bond.example`. */
  readonly issuer?: string | undefined
  /** Your tenant id. */
  readonly tenantId?: string | undefined
  /** The session that the receipt must be for. */
  readonly sessionId?: string | undefined
  /** The proof that the log has the receipt, as the service returned it: null until it has. */
  readonly proof?: string | null | undefined
}

/** Why a receipt is rejected. */
export type ReceiptRejectReason =
  | 'malformed'
  | 'key_unknown'
  | 'signature_mismatch'
  | 'issuer_mismatch'
  | 'tenant_mismatch'
  | 'session_mismatch'
  | 'payload_mismatch'
  | 'context_mismatch'
  | 'phone_signature_mismatch'
  | 'one_of_several'
  | LogRejectReason

/** The result of {@link verifyReceipt}. */
export type ReceiptVerdict =
  | {
      readonly decision: 'accept'
      readonly claims: ReceiptClaims
      /** The checkpoint that covers the receipt; undefined without a proof. */
      readonly checkpoint: Checkpoint | undefined
    }
  | { readonly decision: 'reject'; readonly reason: ReceiptRejectReason }

/**
 * Verifies a receipt offline: the service signed it, and the phone's key signed what it says that
 * the user approved. With a proof, also that the service's log has it.
 *
 * @throws {GateError} `invalid_configuration` for a key set that is not one
 * @example (await verifyReceipt({ receipt: 'eyJ…', jwks: { keys: [] } })).decision // 'reject'
 */
export async function verifyReceipt(given: ReceiptToVerify): Promise<ReceiptVerdict> {
  const verdict = await verifySignatures(given)
  if (verdict.decision === 'reject') return verdict
  if (verdict.claims.context?.quorum) return reject('one_of_several')
  return verifyEntry(given, verdict)
}

type Accepted = Extract<ReceiptVerdict, { decision: 'accept' }>

/** What {@link verifyReceipt} verifies without the log, also of one approval of several. */
export async function verifySignatures(given: ReceiptToVerify): Promise<ReceiptVerdict> {
  const { receipt, jwks, issuer, tenantId, sessionId } = given
  if (typeof receipt !== 'string')
    throw new GateError('invalid_configuration', 'Pass receipt to verifyReceipt: a text.')
  if (!Array.isArray(jwks?.keys))
    throw new GateError(
      'invalid_configuration',
      'verifyReceipt needs a JSON Web Key Set: the content of /.well-known/jwks.json.',
    )
  const [header = '', payload = '', signature = '', ...rest] = receipt.split('.')
  const head = jsonIn(header)
  const bytes = decodeBase64url(signature)
  if (rest.length > 0 || !bytes || head?.alg !== 'EdDSA' || head.typ !== RECEIPT_TYPE)
    return reject('malformed')
  // RFC 7515, 4.1.11: no extension is known here.
  if (head['crit'] !== undefined) return reject('malformed')

  const jwk = jwks.keys.find(({ kid, crv }) => kid === head.kid && crv === 'Ed25519')
  if (jwk?.x === undefined) return reject('key_unknown')
  const key = await importKey(jwk.x)
  const signed = new TextEncoder().encode(`${header}.${payload}`)
  if (!(await crypto.subtle.verify('Ed25519', key, bytes, signed)))
    return reject('signature_mismatch')

  const content = jsonIn(payload)
  if (firstMismatch(ReceiptClaims, content) !== undefined) return reject('malformed')
  const claims = content as ReceiptClaims
  if (issuer !== undefined && claims.iss !== issuer) return reject('issuer_mismatch')
  if (tenantId !== undefined && claims.aud !== tenantId) return reject('tenant_mismatch')
  if (sessionId !== undefined && claims.session_id !== sessionId) return reject('session_mismatch')
  const fault = await faultOfPayload(claims)
  if (fault !== undefined) return reject(fault)
  if (!(await isSignedByPhone(claims.phone, claims.iss))) return reject('phone_signature_mismatch')
  return { decision: 'accept', claims, checkpoint: undefined }
}

/** Verifies that the log has a receipt, if it comes with a proof. */
export async function verifyEntry(
  { receipt, jwks, proof }: ReceiptToVerify,
  verdict: Accepted,
): Promise<ReceiptVerdict> {
  if (proof === undefined || proof === null) return verdict
  const { claims } = verdict
  const included = await verifyInclusion({ receipt, proof, origin: claims.log_origin, jwks })
  return included.decision === 'accept' ? { ...included, claims } : included
}

/** What the phone signed must be what the receipt says. */
async function faultOfPayload(claims: ReceiptClaims): Promise<ReceiptRejectReason | undefined> {
  const { phone, context } = claims
  const payload = objectIn(new TextEncoder().encode(phone.payload))
  const said = {
    typ: 'bonded-assertion/v1',
    session_id: claims.session_id,
    tenant_id: claims.aud,
    workflow: claims.workflow,
    action: claims.action,
    origin: claims.iss,
  }
  const isSame = Object.entries(said).every(([name, value]) => payload?.[name] === value)
  const isCanonical = isSame && canonicalJson(payload) === phone.payload
  if (!isCanonical || phone.format !== claims.device_format) return 'payload_mismatch'
  const shown =
    context === null
      ? null
      : encodeBase64url(await sha256(new TextEncoder().encode(canonicalJson(context))))
  return payload?.context === shown ? undefined : 'context_mismatch'
}

function importKey(x: string): Promise<CryptoKey> {
  return crypto.subtle
    .importKey('jwk', { kty: 'OKP', crv: 'Ed25519', x }, 'Ed25519', false, ['verify'])
    .catch((cause: unknown) => {
      const message = `A key of the key set is malformed: ${describeFailure(cause)}.`
      throw new GateError('invalid_configuration', message, { cause })
    })
}

/** An object that a part of the JWS encodes. */
function jsonIn(part: string): Record<string, unknown> | undefined {
  const bytes = decodeBase64url(part)
  return bytes && objectIn(bytes)
}

function reject(reason: ReceiptRejectReason): ReceiptVerdict {
  return { decision: 'reject', reason }
}
