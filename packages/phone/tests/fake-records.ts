import { createHash, type KeyObject, randomBytes, verify as verifyEcdsa } from 'node:crypto'
import {
  type AppAttest,
  canonicalJson,
  encodeBase62,
  type EvidenceRequest,
  type PhoneSession,
  type Reason,
  type SessionContext,
} from '@bonded/contract'
import type { ResponseLike } from '../src/index.ts'

export const ORIGIN = 'https://bond.example'
/** How long a device token of this service is valid. */
export const TOKEN_TTL_MS = 100 * 24 * 60 * 60_000
export const CONTEXT: SessionContext = {
  display: [
    { label: 'Amount', value: '€ 12,500.00' },
    { label: 'To', value: 'Café Ünïcode ✓' },
  ],
  digest: nonceOf('form'),
}

/** A device as the fake service stores it. */
export interface Device {
  readonly device_id: string
  readonly subject_id: string
  readonly added_by: string | null
  device_token: string
  expires_ms: number
  /** Waits to be used for the first time. */
  offered_token: string | undefined
  readonly key: KeyObject
  counter: number
}

export function nonceOf(seed: string): string {
  return createHash('sha256').update(seed).digest('base64url')
}

export function sha(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url')
}

export function newId(prefix: string): string {
  return `${prefix}_${encodeBase62(randomBytes(16), 22)}`
}

/** A rejection on its way to its response. */
export class Rejected extends Error {
  readonly reason: Reason
  readonly param: string | undefined
  constructor(reason: Reason, param?: string) {
    super(reason)
    this.reason = reason
    this.param = param
  }
}

/** A session without the members that depend on the time. */
export type StoredSession = Omit<
  PhoneSession,
  'server_time' | 'expires_in_ms' | 'challenge_expires_in_ms' | 'challenge_rotates_in_ms'
>

/** A pending session, as the fake service creates it. */
export function newSession({
  id,
  nonce,
  origin,
  nowMs,
}: {
  id: string
  nonce: string
  origin: string
  nowMs: number
}): StoredSession {
  return {
    id,
    state: 'pending',
    nonce,
    qr_payload: `pulse://bond?session_id=${id}&nonce=${nonce}`,
    universal_link: `${origin}/bond?session_id=${id}&nonce=${nonce}`,
    api_base_url: origin,
    websocket_url: `${origin.replace('http', 'ws')}/sessions/${id}`,
    challenge_expires_at: new Date(nowMs + 120_000).toISOString(),
    expires_at: new Date(nowMs + 300_000).toISOString(),
    workflow: 'wire_transfer',
    action: 'approve_wire',
    tenant_id: newId('ten'),
    verification: null,
    tenant_name: 'Example Bank',
    requesting_origin: 'https://bank.example',
    workflow_title: null,
    action_title: null,
    context: CONTEXT,
    created_at: new Date(nowMs).toISOString(),
    step_up: null,
    ended_reason: null,
    outcome: null,
    seq: 1,
  }
}

/** Verifies an assertion of a software key and raises the device's counter. */
export function verifySignature(
  device: Device,
  { payload, attest }: { payload: string; attest: AppAttest },
): void {
  const hash = createHash('sha256').update(payload).digest()
  const data = Buffer.from(attest.authenticator_data, 'base64url')
  const app = createHash('sha256').update('software').digest()
  const signed = verifyEcdsa(
    'sha256',
    Buffer.concat([data, hash]),
    device.key,
    Buffer.from(attest.signature, 'base64url'),
  )
  const counter = data.length === 37 ? data.readUInt32BE(33) : 0
  const good =
    signed &&
    attest.client_data_hash === hash.toString('base64url') &&
    app.equals(data.subarray(0, 32)) &&
    attest.key_id === 'key' &&
    data[32] === 5
  if (!good || counter <= device.counter) throw new Rejected('assertion_invalid')
  device.counter = counter
}

export const responseOf = (
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): ResponseLike => ({
  status,
  headers: { get: (name) => headers[name] ?? null },
  text: async () => JSON.stringify(body),
})

export function rejection(
  status: number,
  reason: Reason,
  {
    nowMs,
    retry_after_s,
    param,
  }: { nowMs: number; retry_after_s?: number | undefined; param?: string | undefined },
): ResponseLike {
  const server_time =
    reason === 'issued_at_out_of_range' || reason === 'device_token_expired'
      ? { server_time: new Date(nowMs).toISOString() }
      : {}
  const error = {
    code: 'invalid_request',
    message: 'no',
    requestId: newId('req'),
    reason,
    ...(param !== undefined && { param }),
    ...server_time,
  }
  return responseOf(
    status,
    { error },
    retry_after_s === undefined ? {} : { 'retry-after': String(retry_after_s) },
  )
}

export const statusOf = (reason: Reason) =>
  reason === 'credential_invalid' || reason === 'device_token_expired'
    ? 401
    : reason === 'session_not_found'
      ? 404
      : 400

/** When a token that is issued now is to be renewed, and when it expires. */
export const tokenTimes = (nowMs: number) => ({
  device_token_renew_at: new Date(nowMs + TOKEN_TTL_MS / 2).toISOString(),
  device_token_expires_at: new Date(nowMs + TOKEN_TTL_MS).toISOString(),
})

/** The evidence summary of signals, without its signature. */
export function summarize(
  { issued_at, signals }: EvidenceRequest,
  { nowMs, ttlMs }: { nowMs: number; ttlMs: number },
) {
  const now = new Date(nowMs).toISOString()
  const { local_auth, sensor_continuity } = signals
  const age = Date.parse(issued_at) - Date.parse(local_auth.verified_at)
  const verified = local_auth.result === 'verified' && age >= 0 && age <= 120_000
  return {
    issued_at: now,
    expires_at: new Date(nowMs + ttlMs).toISOString(),
    kid: 'k1',
    local_auth: { ...local_auth, result: verified ? 'verified' : 'failed' },
    carrier: {
      number_verified: false,
      sim_swap_recent: false,
      device_status: 'unknown',
      checked_at: now,
      source: 'none',
    },
    sensor_continuity: {
      motion_present: sensor_continuity !== undefined,
      continuity_score: sensor_continuity ? 0.9 : 0,
      window_ms: 0,
      samples: 0,
      model: 'v1',
    },
  }
}

/**
 * A fault of one request. `unsent` never arrives; the response to `no_response` is lost. The
 * service responds to `timed_out` with `operation_timeout`, and the request takes effect.
 */
export type Fault =
  | 'unsent'
  | 'no_response'
  | 'timed_out'
  | { readonly status: number; readonly reason: Reason; readonly retry_after_s?: number }
