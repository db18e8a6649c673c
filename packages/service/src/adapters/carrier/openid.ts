import type { Clock } from '../../ports/clock.ts'
import { type Answer, learned, type Unknown, unknown } from './answer.ts'
import type { Deadline } from './deadline.ts'
import { type Call, exchange, type Reply } from './exchange.ts'
import { type Signer, signedJwt } from './signed-jwt.ts'

const CLIENT_ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const CIBA_GRANT = 'urn:openid:params:grant-type:ciba'
const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Endpoints hardly ever move; one that did is found within the hour. */
const DISCOVERY_KEPT_MS = 3_600_000
/** CIBA: what holds where the carrier names no interval, and what `slow_down` adds. */
const USUAL_INTERVAL_S = 5
const SHORTEST_INTERVAL_S = 1

export interface OpenIdSettings extends Signer {
  readonly issuer: string
  readonly flow: 'ciba' | 'jwt-bearer'
  /** The one `dpv:` scope that says what the data is for. */
  readonly purpose: string
}

/** On whose behalf a token is asked for, and what it is to open. */
export interface TokenWish {
  /** `tel:+…`, or `operatortoken:…` that the phone brought. */
  readonly subject: string
  readonly scope: string
}

export interface AccessToken {
  readonly value: string
  /** 0 where the carrier does not say. */
  readonly expiresInMs: number
}

interface Endpoints {
  readonly token: string
  readonly backchannel: string | undefined
}

/** Tokens of one carrier. Every request is signed anew: an assertion is never used twice. */
export interface OpenId {
  token(wish: TokenWish, deadline: Deadline): Promise<Answer<AccessToken>>
}

export function openIdOf(settings: OpenIdSettings, clock: Clock): OpenId {
  const endpoints = discovery(settings, clock)
  return {
    async token(wish, deadline) {
      const found = await endpoints(deadline)
      if (!found.known) return found
      return settings.flow === 'ciba'
        ? byCiba(settings, found.value, { wish, deadline, clock })
        : byJwtBearer(settings, found.value, { wish, deadline, clock })
    },
  }
}

interface Asking {
  readonly wish: TokenWish
  readonly deadline: Deadline
  readonly clock: Clock
}

/** RFC 7523. The assertion stands for the client too; the scope stands in it and nowhere else. */
async function byJwtBearer(
  settings: OpenIdSettings,
  { token }: Endpoints,
  { wish, deadline, clock }: Asking,
): Promise<Answer<AccessToken>> {
  const claims = { sub: wish.subject, aud: token, scope: `${settings.purpose} ${wish.scope}` }
  const form = new URLSearchParams({
    grant_type: JWT_BEARER_GRANT,
    assertion: await signedJwt(settings, claims, clock.now()),
  })
  return tokenOf(await asked({ url: token, form }, deadline))
}

/** CIBA in poll mode: begin, then ask for the token, never sooner than the carrier allows. */
async function byCiba(
  settings: OpenIdSettings,
  endpoints: Endpoints,
  { wish, deadline, clock }: Asking,
): Promise<Answer<AccessToken>> {
  if (endpoints.backchannel === undefined) return unknown('client_refused')
  const scope = `openid ${settings.purpose} ${wish.scope}`
  const begun = await asked(
    await authenticated(
      settings,
      { url: endpoints.backchannel, form: { scope, login_hint: wish.subject } },
      clock,
    ),
    deadline,
  )
  if (!begun.known) return begun
  const { auth_req_id: id, interval = USUAL_INTERVAL_S } = begun.value
  if (typeof id !== 'string' || id === '' || typeof interval !== 'number')
    return unknown('malformed_answer')
  let intervalMs = Math.max(interval, SHORTEST_INTERVAL_S) * 1000
  for (;;) {
    const poll = { url: endpoints.token, form: { grant_type: CIBA_GRANT, auth_req_id: id } }
    const heard = await spoken(await authenticated(settings, poll, clock), deadline)
    if (!heard.known) return heard
    const { error } = heard.value.members ?? {}
    const pending =
      heard.value.status === 400 && (error === 'authorization_pending' || error === 'slow_down')
    if (!pending) return tokenOf(judged(heard.value))
    if (error === 'slow_down') intervalMs += USUAL_INTERVAL_S * 1000
    if (!(await deadline.reaches(clock.now() + intervalMs))) return unknown('timeout')
  }
}

/** The call with the proof of who makes it. */
async function authenticated(
  settings: OpenIdSettings,
  { url, form }: { url: string; form: Record<string, string> },
  clock: Clock,
): Promise<Call> {
  const assertion = await signedJwt(settings, { sub: settings.clientId, aud: url }, clock.now())
  return {
    url,
    form: new URLSearchParams({
      ...form,
      client_id: settings.clientId,
      client_assertion_type: CLIENT_ASSERTION,
      client_assertion: assertion,
    }),
  }
}

type Members = NonNullable<Reply['members']>

async function asked(call: Call, deadline: Deadline): Promise<Answer<Members>> {
  const heard = await spoken(call, deadline)
  return heard.known ? judged(heard.value) : heard
}

/** The reply of an authorization server that is well: what it refuses is said in OAuth's words. */
async function spoken(call: Call, deadline: Deadline): Promise<Answer<Reply>> {
  const heard = await exchange(call, deadline)
  if (!heard.known) return heard
  const { status, retryAfterMs } = heard.value
  if (status === 429)
    return { ...unknown('rate_limited'), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  if (status >= 500) return unknown('server_error')
  return heard
}

function judged({ status, members }: Reply): Answer<Members> {
  if (members === undefined) return unknown('malformed_answer')
  if (status === 200) return learned(members)
  if (status < 400) return unknown('malformed_answer')
  return refusalOf(members.error)
}

/** Whether it refuses us, or the person we ask about. */
function refusalOf(error: unknown): Unknown {
  const ofClient = [
    'invalid_client',
    'unauthorized_client',
    'unsupported_grant_type',
    'invalid_scope',
    'invalid_request',
    'invalid_request_object',
  ]
  return unknown(ofClient.includes(String(error)) ? 'client_refused' : 'token_refused')
}

function tokenOf(answer: Answer<Members>): Answer<AccessToken> {
  if (!answer.known) return answer
  const { access_token: value, token_type: type, expires_in: seconds = 0 } = answer.value
  if (typeof value !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(value))
    return unknown('malformed_answer')
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    return unknown('malformed_answer')
  if (typeof seconds !== 'number' || !(seconds >= 0)) return unknown('malformed_answer')
  return learned({ value, expiresInMs: seconds * 1000 })
}

/** The endpoints that the issuer names. Questions at the same time share one look. */
function discovery(
  { issuer }: OpenIdSettings,
  clock: Clock,
): (deadline: Deadline) => Promise<Answer<Endpoints>> {
  let kept: { readonly endpoints: Endpoints; readonly until: number } | undefined
  let looking: Promise<Answer<Endpoints>> | undefined
  const look = async (deadline: Deadline): Promise<Answer<Endpoints>> => {
    const found = await asked(
      { url: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration` },
      deadline,
    )
    if (!found.known) return found
    const endpoints = endpointsOf(found.value, issuer)
    if (endpoints === undefined) return unknown('malformed_answer')
    kept = { endpoints, until: clock.now() + DISCOVERY_KEPT_MS }
    return learned(endpoints)
  }
  return (deadline) => {
    if (kept !== undefined && clock.now() < kept.until)
      return Promise.resolve(learned(kept.endpoints))
    looking ??= look(deadline).finally(() => (looking = undefined))
    return looking
  }
}

function endpointsOf(document: Members, issuer: string): Endpoints | undefined {
  const { token_endpoint: token, backchannel_authentication_endpoint: backchannel } = document
  // OpenID Connect Discovery 4.3: or one issuer could speak for another.
  if (document.issuer !== issuer || !isAsSafeAs(issuer, token)) return undefined
  if (backchannel === undefined) return { token, backchannel: undefined }
  return isAsSafeAs(issuer, backchannel) ? { token, backchannel } : undefined
}

/** A URL that is encrypted wherever the issuer's own is. */
function isAsSafeAs(issuer: string, url: unknown): url is string {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { protocol } = new URL(url)
  return protocol === 'https:' || protocol === new URL(issuer).protocol
}
