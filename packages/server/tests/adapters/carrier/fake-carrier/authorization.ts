import { createPublicKey, type KeyObject, randomUUID } from 'node:crypto'
import { jwtVerify } from 'jose'
import type { Clock } from '../../../../../core/src/ports/clock.ts'

const LIFE_S = 300
const INTERVAL_S = 1

export interface IssuedToken {
  readonly subject: string
  readonly scopes: readonly string[]
  readonly until: number
}

export interface Spoken {
  readonly status: number
  readonly body: object
}

/** The fake authorization server. It records a violation of the profile. */
export class Authorization {
  readonly tokens = new Map<string, IssuedToken>()
  /** The claims of every received assertion. */
  readonly assertions: Record<string, unknown>[] = []
  /** How often a CIBA poll gets `authorization_pending` before the token comes. */
  pendingPolls = 0
  /** Whether the first poll gets `slow_down`. */
  slowDown = false
  /** Rejected subjects and their errors. */
  readonly rejected = new Map<string, string>()
  interval: number | undefined = INTERVAL_S
  readonly #jtis = new Set<string>()
  readonly #requests = new Map<
    string,
    { subject: string; scopes: string[]; polls: number; nextPoll: number }
  >()
  readonly #of: {
    clock: Clock
    key: KeyObject
    clientId: string
    violation: (what: string) => void
  }

  constructor(of: {
    clock: Clock
    privateKey: KeyObject
    clientId: string
    violation: (what: string) => void
  }) {
    this.#of = {
      ...of,
      key: createPublicKey(of.privateKey.export({ format: 'pem', type: 'pkcs8' })),
    }
  }

  async token(form: URLSearchParams, url: string): Promise<Spoken> {
    if (form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
      if (form.has('scope')) this.#of.violation('a scope parameter with JWT bearer')
      const claims = await this.#verified(form.get('assertion'), url)
      if (claims === undefined) return { status: 401, body: { error: 'invalid_client' } }
      return this.#granted(String(claims.sub), String(claims.scope).split(' '))
    }
    if (!(await this.#client(form, url))) return { status: 401, body: { error: 'invalid_client' } }
    const request = this.#requests.get(form.get('auth_req_id') ?? '')
    if (form.get('grant_type') !== 'urn:openid:params:grant-type:ciba' || request === undefined)
      return { status: 400, body: { error: 'invalid_grant' } }
    const now = this.#of.clock.now()
    if (now < request.nextPoll) this.#of.violation(`a poll ${request.nextPoll - now} ms too early`)
    request.polls += 1
    request.nextPoll = now + (this.interval ?? 5) * 1000
    if (this.slowDown && request.polls === 1) {
      request.nextPoll += 5000
      return { status: 400, body: { error: 'slow_down' } }
    }
    if (request.polls <= this.pendingPolls)
      return { status: 400, body: { error: 'authorization_pending' } }
    return this.#granted(request.subject, request.scopes)
  }

  async backchannel(form: URLSearchParams, url: string): Promise<Spoken> {
    if (!(await this.#client(form, url))) return { status: 401, body: { error: 'invalid_client' } }
    const scopes = (form.get('scope') ?? '').split(' ')
    if (!scopes.includes('openid')) this.#of.violation('CIBA without openid')
    const subject = form.get('login_hint') ?? ''
    const auth_req_id = randomUUID()
    this.#requests.set(auth_req_id, { subject, scopes, polls: 0, nextPoll: 0 })
    return {
      status: 200,
      body: {
        auth_req_id,
        expires_in: 120,
        ...(this.interval === undefined ? {} : { interval: this.interval }),
      },
    }
  }

  async #client(form: URLSearchParams, url: string): Promise<boolean> {
    const isKind =
      form.get('client_assertion_type') === 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    const claims = await this.#verified(form.get('client_assertion'), url)
    if (claims && claims.sub !== this.#of.clientId)
      this.#of.violation('a client assertion about another client')
    return isKind && claims !== undefined
  }

  async #verified(
    assertion: string | null,
    url: string,
  ): Promise<Record<string, unknown> | undefined> {
    const { clock, key, clientId, violation } = this.#of
    const now = clock.now()
    try {
      const { payload } = await jwtVerify(assertion ?? '', key, {
        issuer: clientId,
        audience: url,
        currentDate: new Date(now),
        requiredClaims: ['sub', 'exp', 'iat', 'jti'],
      })
      const { exp = 0, iat = 0, jti = '' } = payload
      this.assertions.push(payload)
      if (payload.aud !== url) violation('an audience that is not the endpoint alone')
      if (exp - iat > 300 || exp - now / 1000 > 300 || iat > now / 1000)
        violation('an assertion of too long a life, or of the future')
      if (this.#jtis.has(jti)) violation('a jti used twice')
      this.#jtis.add(jti)
      return payload
    } catch {
      return undefined
    }
  }

  #granted(subject: string, scopes: readonly string[]): Spoken {
    const purposes = scopes.filter((scope) => scope.startsWith('dpv:'))
    if (purposes.length !== 1) this.#of.violation(`${purposes.length} purposes`)
    const error = this.rejected.get(subject)
    if (error !== undefined) return { status: 400, body: { error } }
    const value = randomUUID()
    this.tokens.set(value, { subject, scopes, until: this.#of.clock.now() + LIFE_S * 1000 })
    return { status: 200, body: { access_token: value, token_type: 'Bearer', expires_in: LIFE_S } }
  }
}
