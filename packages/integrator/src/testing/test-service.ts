import {
  BROWSER_SECRET_HEADER,
  COMPLETION_SECRET_HEADER,
  CONTEXT_DIGEST_HEADER,
  type CreateSessionRequest,
  credentialChecksum,
  docUrlOf,
  encodeBase64url,
  type FullSession,
  hasEnded,
  makeId,
  OUTCOME_HEADER,
  parseMembers,
  REASONS,
  type Reason,
  type ResponseLike,
  statusOf,
  WATCH_PARAMETER,
} from '@bonded/contract'
import { systemRandom } from '../clock.ts'
import type { FetchLike } from '../service/call.ts'
import { faultOfCreate } from './create-request.ts'
import { keySetOf, makeReceiptKeys, type ReceiptKeys, signReceipt } from './test-receipt.ts'
import { type SessionOutcome, type TestOutcome, withOutcome } from './outcomes.ts'

/** A host that no name server resolves, so that nothing can reach a service by mistake. */
export const TEST_ORIGIN = 'https://bonded.test'
export const TEST_TENANT_ID = `ten_${'t'.repeat(22)}`
const BARE_CREDENTIAL = `sk_beta_${'k'.repeat(10)}_${'s'.repeat(43)}`
export const TEST_CREDENTIAL = BARE_CREDENTIAL + credentialChecksum(BARE_CREDENTIAL)

const SESSION_TTL_MS = 300_000
const CHALLENGE_TTL_MS = 120_000

const ROUTE = /^\/api\/v1\/sessions(?:\/([^/]+)(?:\/([^/]+))?)?$/
const METHODS: Readonly<Record<string, string>> = {
  create: 'POST',
  get: 'GET',
  'form-completed': 'POST',
  receipt: 'GET',
}

/** A session as the service stores it. Its `subject_ref` is that of the create, if any. */
export interface StoredSession {
  session: FullSession
  readonly created_at: string
  readonly completion_secret: string
  /** Made once. */
  receipt?: Promise<string>
}

/** One request, with the names of its headers in lower case. */
export interface TestRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** The calls of a backend, answered as the service answers them, from memory. */
export class TestService {
  readonly sessions = new Map<string, StoredSession>()
  readonly #creates = new Map<string, { readonly body: string; readonly id: string }>()
  readonly #now: () => number
  /** What every session is that is still as it was created. */
  outcome: TestOutcome
  /** Completions that changed a session. */
  completions = 0
  #made: Promise<ReceiptKeys> | undefined

  constructor(now: () => number, outcome: TestOutcome) {
    this.#now = now
    this.outcome = outcome
  }

  get #keys(): Promise<ReceiptKeys> {
    return (this.#made ??= makeReceiptKeys())
  }

  readonly fetch: FetchLike = async (url, { method, headers, body }) =>
    this.answer({ method, path: new URL(url).pathname, headers, body })

  async answer(request: TestRequest): Promise<ResponseLike> {
    const { method, path, headers } = request
    if ('rejection' in this.outcome) return rejection(this.outcome.rejection)
    if (path === '/.well-known/jwks.json') return respond(200, await keySetOf(await this.#keys))
    const [, id, rest] = ROUTE.exec(path) ?? []
    const wanted = ROUTE.test(path) && METHODS[id === undefined ? 'create' : (rest ?? 'get')]
    if (!wanted) return rejection('unknown_endpoint')
    if (headers['authorization'] !== `Bearer ${TEST_CREDENTIAL}`)
      return rejection('credential_invalid')
    const isEnd = method === 'DELETE' && id !== undefined && rest === undefined
    if (method !== wanted && !isEnd) return rejection('method_not_allowed')
    if (id === undefined) return this.#create(request)
    const stored = this.sessions.get(id)
    if (stored === undefined) return rejection('session_not_found')
    if (isEnd) return this.#end(stored)
    if (rest === 'form-completed') return this.#complete(stored, headers)
    if (rest === 'receipt') return this.#receipt(stored, headers)
    return respond(200, this.read(stored, headers))
  }

  /** The session as this call reads it. */
  read(stored: StoredSession, headers: TestRequest['headers']): FullSession {
    const session = this.view(stored)
    return isOfBrowser(session, headers) ? session : { ...session, verification: null }
  }

  async #receipt(stored: StoredSession, headers: TestRequest['headers']): Promise<ResponseLike> {
    const session = this.view(stored)
    if (session.verification === null) return rejection('session_not_bonded')
    if (!isOfBrowser(session, headers)) return rejection('browser_secret_mismatch')
    stored.receipt ??= this.#keys.then((keys) => signReceipt(keys, session, stored))
    return respond(200, { receipt: await stored.receipt, proof: null })
  }

  /** The session as it is now. */
  view({ session: stored }: StoredSession): FullSession {
    const nowMs = this.#now()
    const isUntouched = stored.state === 'pending' && !('rejection' in this.outcome)
    const timed = atTime(stored, nowMs)
    const session = isUntouched ? withOutcome(timed, this.outcome as SessionOutcome) : timed
    const isOver = !hasEnded(session.state) && Date.parse(stored.expires_at) <= nowMs
    if (!isOver) return session
    const expired = withOutcome(timed, { state: 'expired' })
    const isBonded = session.state === 'bonded'
    return isBonded ? { ...expired, reported_at: stored.reported_at ?? null } : expired
  }

  #create({ headers, body: text = '{}' }: TestRequest): ResponseLike {
    const fault = faultOfCreate(text)
    if (fault !== undefined) return rejection(fault.reason, { param: fault.param })
    const key = headers['idempotency-key'] ?? makeId('req', systemRandom(16))
    const earlier = this.#creates.get(key)
    if (earlier !== undefined && earlier.body !== text) return rejection('idempotency_mismatch')
    const id = earlier?.id ?? makeId('sess', systemRandom(16))
    let stored = this.sessions.get(id)
    if (stored === undefined) {
      const nowMs = this.#now()
      stored = {
        session: newSession(id, parseMembers(text) as CreateSessionRequest, nowMs),
        created_at: iso(nowMs),
        completion_secret: `bcs_${randomText()}`,
      }
      this.#creates.set(key, { body: text, id })
      this.sessions.set(id, stored)
    }
    const { session, completion_secret } = stored
    const created = { ...atTime(session, this.#now()), subject_ref: null, completion_secret }
    return respond(201, created)
  }

  #end(stored: StoredSession): ResponseLike {
    const session = this.view(stored)
    if (session.state === 'expired') return rejection('session_not_found')
    if (!hasEnded(session.state))
      stored.session = {
        ...session,
        state: 'killed',
        ended_reason: 'killed_by_tenant',
        seq: session.seq + 1,
      }
    return respond(204, {})
  }

  #complete(stored: StoredSession, headers: TestRequest['headers']): ResponseLike {
    const session = this.view(stored)
    if (session.state === 'expired') return this.#reportLate(stored, headers)
    const secret = headers[COMPLETION_SECRET_HEADER]
    if (secret === undefined) return rejection('completion_secret_missing')
    if (secret !== stored.completion_secret) return rejection('completion_secret_mismatch')
    const digest = headers[CONTEXT_DIGEST_HEADER]
    if (digest !== undefined && digest !== session.context?.digest)
      return rejection('context_mismatch')
    if (session.state !== 'bonded' && session.state !== 'completed')
      return rejection('session_not_bonded')
    if (session.state === 'bonded') {
      this.completions += 1
      const outcome = (headers[OUTCOME_HEADER] ?? null) as FullSession['outcome']
      const reported_at = iso(this.#now())
      const completed = { state: 'completed', outcome, reported_at, seq: session.seq + 1 } as const
      stored.session = { ...session, ...completed }
    }
    return respond(200, { ok: true, session_id: session.id })
  }

  /** Keeps the first report of a bond that has expired. */
  #reportLate(stored: StoredSession, headers: TestRequest['headers']): ResponseLike {
    const { context, reported_at: reported } = this.view(stored)
    const bound = context?.digest
    const { [CONTEXT_DIGEST_HEADER]: digest = bound, [OUTCOME_HEADER]: said = null } = headers
    const isBackend = headers[COMPLETION_SECRET_HEADER] === stored.completion_secret
    if (reported === undefined || !isBackend || digest !== bound)
      return rejection('session_not_found')
    const outcome = said as FullSession['outcome']
    const first = reported === null && { reported_at: iso(this.#now()), outcome }
    stored.session = { ...stored.session, ...first }
    return rejection('session_not_found', { reported_at: stored.session.reported_at })
  }
}

/** Whether the call may read what the browser proved, where the workflow requires the browser. */
function isOfBrowser({ verification }: FullSession, headers: TestRequest['headers']): boolean {
  return verification?.browser === undefined || headers[BROWSER_SECRET_HEADER] !== undefined
}

function newSession(id: string, requested: CreateSessionRequest, nowMs: number): FullSession {
  const nonce = randomText()
  const watch_token = `bwt_${randomText()}`
  const query = `?session_id=${id}&nonce=${nonce}`
  const { context, workflow, action, subject_ref } = requested
  return {
    id,
    state: 'pending',
    nonce,
    qr_payload: `pulse://bond${query}`,
    api_base_url: TEST_ORIGIN,
    universal_link: `${TEST_ORIGIN}/bond${query}`,
    websocket_url: `${TEST_ORIGIN.replace('http', 'ws')}/sessions/${id}?${WATCH_PARAMETER}=${watch_token}`,
    challenge_expires_at: iso(nowMs + CHALLENGE_TTL_MS),
    expires_at: iso(nowMs + SESSION_TTL_MS),
    workflow: workflow ?? null,
    action: action ?? null,
    tenant_id: TEST_TENANT_ID,
    server_time: iso(nowMs),
    expires_in_ms: SESSION_TTL_MS,
    challenge_expires_in_ms: CHALLENGE_TTL_MS,
    challenge_rotates_in_ms: CHALLENGE_TTL_MS / 2,
    seq: 1,
    qr_svg_url: `/v1/sessions/${id}/qr.svg?nonce=${nonce}`,
    qr_content: 'universal_link',
    verification: null,
    context: (context ?? null) as FullSession['context'],
    subject_ref: subject_ref ?? null,
    watch_token,
    step_up: null,
    hint: 'waiting_for_scan',
    ended_reason: null,
    decline_note: null,
    outcome: null,
  }
}

function atTime(session: FullSession, nowMs: number): FullSession {
  const left = (until: string) => Math.max(0, Date.parse(until) - nowMs)
  const { state, expires_at, challenge_expires_at } = session
  return {
    ...session,
    server_time: iso(nowMs),
    expires_in_ms: hasEnded(state) ? 0 : left(expires_at),
    challenge_expires_in_ms: state === 'pending' ? left(challenge_expires_at) : 0,
  }
}

function rejection(reason: Reason, more: object = {}): ResponseLike {
  const { code, message } = REASONS[reason]
  const status = statusOf(reason)
  const requestId = makeId('req', systemRandom(16))
  const doc_url = docUrlOf(reason)
  const error = { code, message, requestId, reason, doc_url, ...more }
  const headers = status === 429 || status === 503 ? { 'retry-after': '1' } : {}
  return respond(status, { error }, headers)
}

function respond(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): ResponseLike {
  return {
    status,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    text: async () => JSON.stringify(body),
  }
}

function randomText(): string {
  return encodeBase64url(systemRandom(32))
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
