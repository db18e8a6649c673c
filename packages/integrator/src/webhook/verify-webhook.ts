import { type GateClock, systemClock } from '../clock.ts'
import { GateError } from '../errors.ts'
import type { Secret } from '@bonded/contract'
import { requireOptions } from '../required.ts'
import { checkOf, revealed } from './signature.ts'

/** Standard Webhooks: five minutes in either direction limit the replay of a recorded delivery. */
const TOLERANCE_MS = 300_000

/**
 * The headers of `fetch`, or a plain object with names in any case, as Node and functions of a
 * cloud have them.
 */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** Why a delivery is rejected. */
export type WebhookRejectReason =
  | 'header_missing'
  | 'timestamp_malformed'
  | 'timestamp_out_of_range'
  | 'signature_mismatch'

/**
 * The result of {@link verifyWebhook}. A repeated delivery has the same `id`: store it, and act
 * once.
 */
export type WebhookVerdict =
  | { readonly decision: 'accept'; readonly id: string; readonly sentAtMs: number }
  | { readonly decision: 'reject'; readonly reason: WebhookRejectReason }

/** One delivery and the inputs of its verification. */
export interface WebhookDelivery {
  readonly headers: WebhookHeaders
  /** The unparsed body, because the signature covers its bytes. */
  readonly body: string | Uint8Array | ArrayBuffer
  /** The secret of the endpoint, with `v1a` its public key; several while it is being rotated. */
  readonly secret: Secret | readonly Secret[]
  readonly clock?: Pick<GateClock, 'now'>
}

/**
 * Verifies that the service signed a delivery within the last five minutes (Standard Webhooks,
 * `v1` and `v1a`). Return 400 for a rejected delivery, and parse the body only after it is
 * accepted.
 *
 * @throws {GateError} `invalid_configuration` for a malformed secret, or a parsed body
 * @example (await verifyWebhook({ headers: request.headers, body: await request.text(), secret: new Secret('whsec_…') })).decision // 'accept'
 */
export async function verifyWebhook({
  headers,
  body,
  secret,
  clock = systemClock,
}: WebhookDelivery): Promise<WebhookVerdict> {
  requireOptions('verifyWebhook', { headers }, { headers: 'an object' })
  // A body that a middleware has parsed is an error below, after the headers: anyone can send one.
  if (typeof body !== 'object' || body === null) unparsed(body)
  const secrets = Array.isArray(secret) ? (secret as readonly Secret[]) : [secret as Secret]
  if (secrets.length === 0)
    throw new GateError('invalid_configuration', 'verifyWebhook needs the secret of the endpoint.')
  const checks = await Promise.all(secrets.map((one) => checkOf(revealed(one))))

  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
    (name) => headerOf(headers, name),
  )
  if (!id || !timestamp || !signature) return { decision: 'reject', reason: 'header_missing' }

  if (!/^\d{1,12}$/.test(timestamp)) return { decision: 'reject', reason: 'timestamp_malformed' }
  const sentAtMs = Number(timestamp) * 1_000
  // The timestamp has whole seconds, so the tolerance applies in both directions.
  if (Math.abs(clock.now() - sentAtMs) > TOLERANCE_MS)
    return { decision: 'reject', reason: 'timestamp_out_of_range' }

  const signed = { id, timestamp, body: unparsed(body) }
  const verdicts = await Promise.all(checks.map((check) => check(signed, signature)))
  return verdicts.includes(true)
    ? { decision: 'accept', id, sentAtMs }
    : { decision: 'reject', reason: 'signature_mismatch' }
}

/** @throws {GateError} `invalid_configuration` for a body whose bytes a parser has replaced */
function unparsed(body: unknown): string | Uint8Array {
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  // Not by `instanceof`: the body can come from another realm, as in Jest.
  if (Object.prototype.toString.call(body) === '[object ArrayBuffer]')
    return new Uint8Array(body as ArrayBuffer)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
  throw new GateError(
    'invalid_configuration',
    'Pass the unparsed body to verifyWebhook: the signature covers its bytes. In Express that is express.raw({ type: "application/json" }) on this route.',
  )
}

/** A header that was sent once. A header sent twice is ambiguous and counts as missing. */
function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function')
    return (headers as { get(name: string): string | null }).get(name) ?? undefined
  const values = Object.entries(headers)
    .filter(([given]) => given.toLowerCase() === name)
    .flatMap(([, value]: readonly [string, unknown]) => value)
  const [value] = values
  return values.length === 1 && typeof value === 'string' ? value : undefined
}
