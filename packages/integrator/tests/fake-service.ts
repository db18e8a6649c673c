import { createHash, randomBytes } from 'node:crypto'
import {
  credentialChecksum,
  encodeBase62,
  type FullSession,
  makeId,
  type PulseVerification,
} from '@bonded/contract'
import type { ResponseLike, FetchLike } from '../src/index.ts'

const BARE = `sk_beta_${'k'.repeat(10)}_${'s'.repeat(43)}`
export const SERVER_CREDENTIAL = BARE + credentialChecksum(BARE)
export const TENANT_ID = `ten_${'t'.repeat(22)}`
export const BASE_URL = 'https://bonds.test/api/v1'

export const GOOD_VERIFICATION: PulseVerification = {
  device_possession: true,
  local_auth: 'verified',
  assertion_confidence: 0.8,
  human_presence_confidence: 0.8,
  assertion_band: 'high',
  continuity_score_long_lived: 0.7,
  carrier: { number_verified: false, sim_swap_recent: false, device_status: 'unknown' },
  sensor_continuity: { motion_present: true, continuity_score: 0.8 },
}

/**
 * A fault of one request. `lost`: the service performs it, and its response never arrives.
 * `timed_out`: the service performs it, and responds with `operation_timeout`.
 */
export type Fault =
  | 'lost'
  | 'timed_out'
  | 'refused'
  | 'hang'
  | 'cut'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
  readonly redirect?: string
}

/**
 * The three calls of the service that a gate makes, as the protocol describes them, and its bad
 * days.
 */
export function fakeService(now: () => number) {
  const sessions = new Map<string, FullSession>()
  const keys = new Map<string, { body: string; id: string }>()
  const seen: SeenRequest[] = []
  const faults: (Fault | undefined)[] = []
  let completions = 0

  const response = (
    status: number,
    body: object,
    headers: Record<string, string> = {},
  ): ResponseLike => ({
    status,
    headers: { get: (name) => headers[name] ?? null },
    text: async () => JSON.stringify(body),
  })
  const reject = (status: number, code: string, reason: string) =>
    response(status, {
      error: { code, message: `Refused: ${reason}.`, requestId: `req_${'r'.repeat(22)}`, reason },
    })
  const secretOf = (id: string) => `bcs_${createHash('sha256').update(id).digest('base64url')}`

  function create(request: SeenRequest): ResponseLike {
    const key = request.headers['idempotency-key'] ?? randomBytes(9).toString('hex')
    const body = request.body ?? '{}'
    const earlier = keys.get(key)
    if (earlier && earlier.body !== body)
      return reject(400, 'invalid_request', 'idempotency_mismatch')
    const id = earlier?.id ?? makeId('sess', randomBytes(16))
    if (!earlier) {
      keys.set(key, { body, id })
      sessions.set(id, pendingSession(id, JSON.parse(body)))
    }
    return response(201, { ...sessions.get(id), completion_secret: secretOf(id) })
  }

  function pendingSession(id: string, requested: Record<string, never>): FullSession {
    const nonce = 'n'.repeat(43)
    return {
      id,
      state: 'pending',
      nonce,
      qr_payload: `pulse://bond?session_id=${id}&nonce=${nonce}`,
      api_base_url: 'https://bonds.test',
      universal_link: `https://bonds.test/bond?session_id=${id}&nonce=${nonce}`,
      websocket_url: `wss://bonds.test/sessions/${id}`,
      qr_svg_url: `/v1/sessions/${id}/qr.svg?nonce=${nonce}`,
      qr_content: 'app_scheme',
      challenge_expires_at: iso(now() + 120_000),
      expires_at: iso(now() + 300_000),
      workflow: requested.workflow ?? null,
      action: requested.action ?? null,
      tenant_id: TENANT_ID,
      server_time: iso(now()),
      expires_in_ms: 300_000,
      challenge_expires_in_ms: 120_000,
      challenge_rotates_in_ms: 60_000,
      seq: 1,
      verification: null,
      context: requested.context ?? null,
      subject_ref: requested.subject_ref ?? null,
      watch_token: `bwt_${'w'.repeat(43)}`,
      step_up: null,
      hint: 'waiting_for_scan',
      ended_reason: null,
      outcome: null,
    }
  }

  function complete(id: string, headers: Record<string, string>): ResponseLike {
    const session = sessions.get(id)
    if (!session || Date.parse(session.expires_at) <= now())
      return reject(404, 'not_found', 'session_not_found')
    if (headers['x-bond-completion-secret'] !== secretOf(id))
      return reject(400, 'invalid_request', 'completion_secret_mismatch')
    const digest = headers['x-bond-context-digest']
    if (digest !== undefined && digest !== session.context?.digest)
      return reject(400, 'invalid_request', 'context_mismatch')
    if (session.state !== 'bonded' && session.state !== 'completed')
      return reject(400, 'invalid_request', 'session_not_bonded')
    if (session.state === 'bonded') completions++
    const outcome = (headers['x-bond-outcome'] ?? null) as FullSession['outcome']
    if (session.state === 'bonded') sessions.set(id, { ...session, state: 'completed', outcome })
    return response(200, { ok: true, session_id: id })
  }

  function serve(request: SeenRequest): ResponseLike {
    if (request.headers.authorization !== `Bearer ${SERVER_CREDENTIAL}`)
      return reject(401, 'unauthorized', 'credential_invalid')
    const route = /^\/api\/v1\/sessions(?:\/([^/]+)(\/form-completed)?)?$/.exec(request.path)
    const [, id, completing] = route ?? []
    if (!route) return reject(404, 'invalid_request', 'unknown_endpoint')
    if (id === undefined) return create(request)
    if (completing) return complete(id, request.headers)
    const session = sessions.get(id)
    return session
      ? response(200, { ...session, server_time: iso(now()) })
      : reject(404, 'not_found', 'session_not_found')
  }

  const fetch: FetchLike = async (url, init) => {
    const request = {
      method: init.method,
      path: new URL(url).pathname,
      headers: init.headers,
      body: init.body,
      redirect: init.redirect,
    }
    seen.push(request)
    const fault = faults.shift()
    if (fault === 'refused') throw new TypeError('fetch failed')
    // The clock's time-out signal of these tests is aborted at once.
    if (fault === 'hang') throw init.signal.reason ?? new Error('the attempt has no time limit')
    if (typeof fault === 'object') {
      const { status, headers = {}, body = 'upstream says no' } = fault
      return { status, headers: { get: (name) => headers[name] ?? null }, text: async () => body }
    }
    const done = serve(request)
    if (fault === 'timed_out') return reject(503, 'unavailable', 'operation_timeout')
    if (fault === 'lost') throw new TypeError('the connection was reset')
    if (fault === 'cut') return { ...done, text: async () => (await done.text()).slice(0, 20) }
    return done
  }

  return {
    fetch,
    seen,
    sessions,
    /** The faults of the next requests, one each. */
    fault: (...next: (Fault | undefined)[]) => void faults.push(...next),
    completions: () => completions,
    change: (id: string, change: Partial<FullSession>) => {
      const session = sessions.get(id)
      if (!session) throw new Error(`no session ${id}`)
      sessions.set(id, { ...session, ...change })
    },
    /** The phone approves. */
    bond(id: string, verification: Partial<PulseVerification> = {}) {
      this.change(id, {
        state: 'bonded',
        verification: { ...GOOD_VERIFICATION, ...verification },
        subject_ref: sessions.get(id)?.subject_ref ?? 's'.repeat(43),
      })
    },
    secretOf,
  }
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}

/** A session id that no service issued. */
export function strangeSessionId(): string {
  return `sess_${encodeBase62(randomBytes(16), 22)}`
}
