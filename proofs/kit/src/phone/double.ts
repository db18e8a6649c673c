import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { idOf, jcs, type Members, sha } from '../encoding.ts'
import { CallChecker } from './call-checker.ts'

/** The calls of a phone that the service answers. */
export type CallName =
  | 'challenge'
  | 'invitation'
  | 'register'
  | 'claim'
  | 'read'
  | 'decline'
  | 'evidence'
  | 'attest'
  | 'token'

export interface Call {
  readonly name: CallName
  readonly body: Members
  /** The body as it was sent. */
  readonly text: string
  readonly bearer: string | undefined
}

export interface Reply {
  readonly status: number
  readonly body: Members
  readonly headers?: Readonly<Record<string, string>>
  /** The request takes effect, and its response never arrives. */
  readonly isLost?: true
}

/** A session, and what a case changes of its replies. */
export interface Scenario {
  readonly context?: Members | null
  /** The first assertion leads to this step-up. */
  readonly stepUp?: readonly string[]
  /** Replaces an honest reply. `times` counts the calls of this name. */
  readonly reply?: (call: Call, honest: Reply, times: number) => Reply
}

const ROUTES: readonly (readonly [string, RegExp, CallName])[] = [
  ['POST', /^\/devices\/challenges$/, 'challenge'],
  ['POST', /^\/devices$/, 'register'],
  ['POST', /^\/devices\/\w+\/token$/, 'token'],
  ['POST', /^\/sessions\/\w+\/claim$/, 'claim'],
  ['POST', /^\/sessions\/\w+\/decline$/, 'decline'],
  ['GET', /^\/sessions\/\w+$/, 'read'],
  ['GET', /^\/sessions\/\w+\/invitation$/, 'invitation'],
  ['POST', /^\/evidence$/, 'evidence'],
  ['POST', /^\/attestations$/, 'attest'],
]
const TENANT_ID = idOf('ten', 'tenant')
const LIFETIME_MS = 300_000

/** A service for one phone. It checks what the phone sends, and a case can replace each reply. */
export class ServiceDouble {
  readonly checker = new CallChecker()
  readonly calls: Call[] = []
  /** Requests to an origin that is not the service's. */
  readonly foreignCalls: string[] = []
  #scenario: Scenario = {}
  #session: Members = {}
  #sessions = 0
  /** The service's time is not that of the phone's clock. */
  aheadMs = 36 * 3_600_000
  /** How long after its issue a token is to be renewed. */
  renewAfterMs = LIFETIME_MS
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  readonly #other = createServer((request, response) => {
    this.foreignCalls.push(`${request.method} ${request.url}`)
    response.writeHead(404).end('{}')
  })

  static async start(): Promise<ServiceDouble> {
    const double = new ServiceDouble()
    for (const server of [double.#server, double.#other])
      await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
    return double
  }

  get origin(): string {
    return originOf(this.#server)
  }

  get otherOrigin(): string {
    return originOf(this.#other)
  }

  /** Begins a session, and drops the calls before it. Its view has what a QR code contains. */
  begin(scenario: Scenario = {}): Members {
    const number = this.#sessions++
    this.#scenario = scenario
    this.calls.length = 0
    this.foreignCalls.length = 0
    const id = idOf('sess', `session ${number}`)
    const nonce = sha(`nonce ${number}`)
    this.checker.begin({ nonce })
    this.#session = { id, nonce, state: 'pending', seq: 1, context: scenario.context ?? null }
    return this.view()
  }

  sent(name: CallName): readonly Call[] {
    return this.calls.filter((call) => call.name === name)
  }

  now(afterMs = 0): string {
    return new Date(Date.now() + this.aheadMs + afterMs).toISOString()
  }

  /** The phone view, with a member that no version has yet. */
  view(): Members {
    const { id, nonce, state } = this.#session
    const isLive = state === 'pending'
    const query = `bond?session_id=${id}&nonce=${nonce}`
    return {
      ...this.#session,
      qr_payload: `pulse://${query}`,
      universal_link: `${this.origin}/${query}`,
      api_base_url: this.origin,
      websocket_url: `${this.origin.replace('http', 'ws')}/sessions/${id}`,
      workflow: 'wire_transfer',
      action: 'approve_wire',
      tenant_id: TENANT_ID,
      tenant_name: 'Example Bank',
      workflow_title: null,
      action_title: null,
      requesting_origin: null,
      created_at: this.now(),
      server_time: this.now(),
      expires_at: this.now(LIFETIME_MS),
      challenge_expires_at: this.now(LIFETIME_MS),
      expires_in_ms: LIFETIME_MS,
      challenge_expires_in_ms: isLive ? LIFETIME_MS : 0,
      challenge_rotates_in_ms: isLive ? LIFETIME_MS : 0,
      watch_token: `bwt_${sha(id)}`,
      verification: null,
      outcome: null,
      step_up: this.#session['step_up'] ?? null,
      ended_reason: this.#session['ended_reason'] ?? null,
      a_member_of_later: { a: [1] },
    }
  }

  /** Requires a step-up: the phone must answer the new nonce. */
  #stepUp(required: readonly string[]): Reply {
    const nonce = sha(`step of ${this.#session['nonce']}`)
    const step_up = { required, reasons: ['sensor_continuity_missing'], attempts_left: 2 }
    Object.assign(this.#session, { state: 'step_up_required', nonce, step_up, seq: 3 })
    return { status: 200, body: this.view() }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk)
    const [path = ''] = (request.url ?? '').replace('/api/v1', '').split('?')
    const name = ROUTES.find(([method, at]) => method === request.method && at.test(path))?.[2]
    // A phone may still read the session of the case before.
    const isOfOther = path.startsWith('/sessions/') && !path.includes(this.#session['id'])
    if (name === undefined || isOfOther) {
      response.writeHead(404, JSON_TYPE).end(JSON.stringify(rejection('session_not_found').body))
      return
    }
    const bearer = request.headers.authorization?.replace(/^Bearer /, '')
    const call = { name, text, bearer, body: this.checker.parse(text) }
    this.calls.push(call)
    const honest = this.#answer(call)
    const { reply = () => honest } = this.#scenario
    const { status, body, headers, isLost } = reply(call, honest, this.sent(name).length)
    if (isLost) {
      request.socket.destroy()
      return
    }
    if (name === 'evidence' && status === 200) this.checker.evidence = body['verified_evidence']
    if (status === 200 && body['server_time'] !== undefined) this.checker.view = body
    response.writeHead(status, { ...JSON_TYPE, ...headers }).end(JSON.stringify(body))
  }

  #answer(call: Call): Reply {
    const { name, body } = call
    this.checker.check(call, this.origin, Date.parse(this.now()))
    switch (name) {
      case 'challenge':
        return { status: 201, body: this.checker.newChallenge(this.now(LIFETIME_MS)) }
      case 'register':
      case 'token':
        return { status: 201, body: this.checker.newToken(this.now(this.renewAfterMs)) }
      case 'evidence':
        return { status: 200, body: { verified_evidence: this.#summaryOf(body) } }
      case 'claim':
        return this.#claim(body)
      case 'invitation':
        return { status: 200, body: this.#invitation() }
      case 'decline':
        Object.assign(this.#session, { state: 'killed', ended_reason: body['reason'] })
        break
      case 'attest':
        if (this.#scenario.stepUp && this.sent(name).length === 1)
          return this.#stepUp(this.#scenario.stepUp)
        Object.assign(this.#session, { state: 'bonded', seq: 4, step_up: null })
        break
      case 'read':
    }
    return { status: 200, body: this.view() }
  }

  #claim({ shows = [] }: Members): Reply {
    const { requester, text, quorum } = this.#session['context'] ?? {}
    const words = requester || text ? ['text', 'requester'] : []
    return [...words, ...(quorum ? ['quorum'] : [])].every((word) => shows.includes(word))
      ? { status: 200, body: this.view() }
      : rejection('key_format_not_accepted', { param: 'shows' })
  }

  #invitation(): Members {
    const { state, tenant_name, requesting_origin, ended_reason } = this.view()
    const shown = { state, tenant_name, requesting_origin, ended_reason, tenant_logo_url: null }
    const key = { rp_id: '127.0.0.1', attestation: 'none', browser_key: 'none', names_user: false }
    return { ...shown, registration: { ...key, formats: ['software'] } }
  }

  #summaryOf({ signals }: Members): Members {
    const carrier = { number_verified: false, sim_swap_recent: false, device_status: 'unknown' }
    return {
      issued_at: this.now(),
      expires_at: this.now(LIFETIME_MS),
      kid: 'k1',
      local_auth: { ...signals?.local_auth, verified_at: this.now() },
      carrier: { ...carrier, checked_at: this.now(), source: 'none' },
      sensor_continuity: {
        motion_present: false,
        continuity_score: 0,
        window_ms: 0,
        samples: 0,
        model: 'none',
      },
      signature: sha(jcs(signals)),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of [this.#server, this.#other]) {
      server.closeAllConnections()
      await new Promise((done) => void server.close(done))
    }
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** A rejection of the service (protocol 8). */
export function rejection(reason: string, more: Members = {}): Reply {
  const error = { code: 'invalid_request', reason, message: reason, requestId: idOf('req', reason) }
  return { status: 400, body: { error: { ...error, ...more } } }
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
