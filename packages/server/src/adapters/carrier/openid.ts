import type { Clock } from '@bonded/core/ports/clock'
import { type CarrierResponse, learned, type Unknown, unknown } from './carrier-response.ts'
import type { Deadline } from './deadline.ts'
import { type Call, exchange, type Reply } from './exchange.ts'
import { type Signer, signedJwt } from './signed-jwt.ts'

const CLIENT_ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const CIBA_GRANT = 'urn:openid:params:grant-type:ciba'
const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Endpoints rarely change. The service uses a changed one within an hour. */
const DISCOVERY_CACHED_MS = 3_600_000
/** CIBA: the interval if the carrier names none, and the increment for `slow_down`. */
const DEFAULT_INTERVAL_S = 5
const MIN_INTERVAL_S = 1

export interface OpenIdSettings extends Signer {
  readonly issuer: string
  readonly flow: 'ciba' | 'jwt-bearer'
  /** The `dpv:` scope that states the purpose of the data. */
  readonly purpose: string
}

/** The subject of an access token and the scope it grants. */
export interface TokenRequest {
  /** `tel:+…`, or `operatortoken:…` with the token that the phone sent. */
  readonly subject: string
  readonly scope: string
}

export interface AccessToken {
  readonly value: string
  /** 0 if the carrier does not state it. */
  readonly expiresInMs: number
}

interface Endpoints {
  readonly token: string
  readonly backchannel: string | undefined
}

/** Obtains access tokens from one carrier. Every call has a new assertion, used once. */
export interface OpenId {
  token(request: TokenRequest, deadline: Deadline): Promise<CarrierResponse<AccessToken>>
}

export function openIdOf(settings: OpenIdSettings, clock: Clock): OpenId {
  const endpoints = discovery(settings, clock)
  return {
    async token(request, deadline) {
      const found = await endpoints(deadline)
      if (!found.known) return found
      return settings.flow === 'ciba'
        ? byCiba(settings, found.value, { request, deadline, clock })
        : byJwtBearer(settings, found.value, { request, deadline, clock })
    },
  }
}

interface TokenCall {
  readonly request: TokenRequest
  readonly deadline: Deadline
  readonly clock: Clock
}

/** RFC 7523. The assertion also authenticates the client, and it alone carries the scope. */
async function byJwtBearer(
  settings: OpenIdSettings,
  { token }: Endpoints,
  { request, deadline, clock }: TokenCall,
): Promise<CarrierResponse<AccessToken>> {
  const { subject, scope } = request
  const claims = { sub: subject, aud: token, scope: `${settings.purpose} ${scope}` }
  const form = new URLSearchParams({
    grant_type: JWT_BEARER_GRANT,
    assertion: await signedJwt(settings, claims, clock.now()),
  })
  return tokenOf(await fetchMembers({ url: token, form }, deadline))
}

/** CIBA in poll mode: starts the request, then polls for the token at the carrier's interval. */
async function byCiba(
  settings: OpenIdSettings,
  endpoints: Endpoints,
  { request, deadline, clock }: TokenCall,
): Promise<CarrierResponse<AccessToken>> {
  if (endpoints.backchannel === undefined) return unknown('client_refused')
  const scope = `openid ${settings.purpose} ${request.scope}`
  const started = await fetchMembers(
    await authenticated(
      settings,
      { url: endpoints.backchannel, form: { scope, login_hint: request.subject } },
      clock,
    ),
    deadline,
  )
  if (!started.known) return started
  const { auth_req_id: id, interval = DEFAULT_INTERVAL_S } = started.value
  if (typeof id !== 'string' || id === '' || typeof interval !== 'number')
    return unknown('malformed_answer')
  let intervalMs = Math.max(interval, MIN_INTERVAL_S) * 1000
  for (;;) {
    const poll = { url: endpoints.token, form: { grant_type: CIBA_GRANT, auth_req_id: id } }
    const reply = await exchange(await authenticated(settings, poll, clock), deadline)
    if (!reply.known) return reply
    const { error } = reply.value.members ?? {}
    const pending =
      reply.value.status === 400 && (error === 'authorization_pending' || error === 'slow_down')
    if (!pending) return tokenOf(membersOf(reply.value))
    if (error === 'slow_down') intervalMs += DEFAULT_INTERVAL_S * 1000
    if (!(await deadline.waitUntil(clock.now() + intervalMs))) return unknown('timeout')
  }
}

/** Adds the client assertion, which authenticates this service (RFC 7523). */
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

async function fetchMembers(call: Call, deadline: Deadline): Promise<CarrierResponse<Members>> {
  const reply = await exchange(call, deadline)
  return reply.known ? membersOf(reply.value) : reply
}

function membersOf({ status, members }: Reply): CarrierResponse<Members> {
  if (members === undefined) return unknown('malformed_answer')
  if (status === 200) return learned(members)
  if (status < 400) return unknown('malformed_answer')
  return rejectionOf(members.error)
}

/** Maps an OAuth error: the carrier rejects this client, or the subject of the token. */
function rejectionOf(error: unknown): Unknown {
  const clientErrors = [
    'invalid_client',
    'unauthorized_client',
    'unsupported_grant_type',
    'invalid_scope',
    'invalid_request',
    'invalid_request_object',
  ]
  return unknown(clientErrors.includes(String(error)) ? 'client_refused' : 'token_refused')
}

function tokenOf(response: CarrierResponse<Members>): CarrierResponse<AccessToken> {
  if (!response.known) return response
  const { access_token: value, token_type: type, expires_in: seconds = 0 } = response.value
  if (typeof value !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(value))
    return unknown('malformed_answer')
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    return unknown('malformed_answer')
  if (typeof seconds !== 'number' || !(seconds >= 0)) return unknown('malformed_answer')
  return learned({ value, expiresInMs: seconds * 1000 })
}

/**
 * Fetches and caches the endpoints that the issuer publishes. Concurrent callers share one fetch.
 */
function discovery(
  { issuer }: OpenIdSettings,
  clock: Clock,
): (deadline: Deadline) => Promise<CarrierResponse<Endpoints>> {
  let cached: { readonly endpoints: Endpoints; readonly until: number } | undefined
  let fetching: Promise<CarrierResponse<Endpoints>> | undefined
  const discover = async (deadline: Deadline): Promise<CarrierResponse<Endpoints>> => {
    const found = await fetchMembers(
      { url: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration` },
      deadline,
    )
    if (!found.known) return found
    const endpoints = endpointsOf(found.value, issuer)
    if (endpoints === undefined) return unknown('malformed_answer')
    cached = { endpoints, until: clock.now() + DISCOVERY_CACHED_MS }
    return learned(endpoints)
  }
  return (deadline) => {
    if (cached !== undefined && clock.now() < cached.until)
      return Promise.resolve(learned(cached.endpoints))
    fetching ??= discover(deadline).finally(() => (fetching = undefined))
    return fetching
  }
}

function endpointsOf(document: Members, issuer: string): Endpoints | undefined {
  const { token_endpoint: token, backchannel_authentication_endpoint: backchannel } = document
  // OpenID Connect Discovery 4.3: otherwise one issuer could impersonate another.
  if (document.issuer !== issuer || !isAsSecureAs(issuer, token)) return undefined
  if (backchannel === undefined) return { token, backchannel: undefined }
  return isAsSecureAs(issuer, backchannel) ? { token, backchannel } : undefined
}

/** Whether the URL uses https, or the same scheme as the issuer. */
function isAsSecureAs(issuer: string, url: unknown): url is string {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { protocol } = new URL(url)
  return protocol === 'https:' || protocol === new URL(issuer).protocol
}
