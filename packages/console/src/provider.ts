import { outsideText } from '@bonded/contract'
import * as client from 'openid-client'
import { type Access, isSecure } from './access.ts'
import type { Attempt } from './attempts.ts'
import { claimAt, describeGroups, textsOf } from './groups-claim.ts'
import { ROLES } from './roles.ts'
import type { Operator } from './sessions.ts'

/** How long what the provider says of itself is used. */
const DISCOVERED_MS = 5 * 60_000
const TIMEOUT_SECONDS = 5
/** A working day, as long as a session lasts. */
const MAX_AGE_SECONDS = 8 * 60 * 60
/** As much as clocks differ. */
const TOLERANCE_MS = 30_000
/** OpenID Connect Core, section 2: a subject has at most 255 ASCII characters. */
const SUBJECT = /^[\x21-\x7e]{1,255}$/

/** Why a sign-in was rejected, as the audit log has it. */
export type SignInFailure =
  | 'provider_unavailable'
  | 'provider_misconfigured'
  | 'provider_rejected'
  | 'not_begun_here'
  | 'not_signed_in'
  | 'token_rejected'
  | 'no_role'

export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly code: SignInFailure
  /** Whom the rejected token names; undefined if its signature does not verify. */
  readonly subject: string | undefined
  /** A sentence for the page: it names no address of the operator's network. */
  readonly detail: string | undefined

  constructor(
    code: SignInFailure,
    given: { cause?: unknown; subject?: string; detail?: string | undefined } = {},
  ) {
    super(code, { cause: given.cause })
    this.code = code
    this.subject = given.subject
    this.detail = given.detail
  }
}

/** An OpenID provider, which names the operator and the groups. */
export class Provider {
  readonly #access: Access
  readonly #now: () => number
  #found: { readonly metadata: Promise<client.ServerMetadata>; readonly at: number } | undefined

  constructor(access: Access, now: () => number) {
    this.#access = access
    this.#now = now
  }

  get redirectUri(): string {
    return `${this.#access.origin}/callback`
  }

  /** Reads what the provider says of itself. @throws {SignInError} if that is of no use */
  async check(): Promise<void> {
    await this.#configuration()
  }

  /** The address of the sign-in. @throws {SignInError} if the provider does not answer */
  async addressOf({ secret, isFresh }: Attempt): Promise<URL> {
    const parameters = {
      redirect_uri: this.redirectUri,
      scope: ['openid', ...this.#access.scopes].join(' '),
      state: secret('state'),
      nonce: secret('nonce'),
      code_challenge: await client.calculatePKCECodeChallenge(secret('verifier')),
      code_challenge_method: 'S256',
      // It makes the provider say when the operator entered a credential.
      ...(isFresh ? { prompt: 'login', max_age: '0' } : { max_age: String(MAX_AGE_SECONDS) }),
    }
    return client.buildAuthorizationUrl(await this.#configuration(), parameters)
  }

  /**
   * Who has signed in, by the address that the provider returned the browser to.
   *
   * @throws {SignInError} if the answer is not of this provider to this attempt, or gives no role
   */
  async operatorOf(url: URL, attempt: Attempt): Promise<Operator> {
    const configuration = await this.#configuration()
    const claims = await claimsOf(configuration, url, attempt)
    const subject = SUBJECT.test(claims.sub) ? claims.sub : undefined
    if (subject === undefined) throw new SignInError('token_rejected')
    const provedAt = claims.auth_time === undefined ? undefined : claims.auth_time * 1_000
    // Not every provider asks again because it was asked to.
    if (attempt.isFresh && !((provedAt ?? 0) >= attempt.startedAt - TOLERANCE_MS))
      throw new SignInError('not_signed_in', {
        subject,
        detail: describeStale(provedAt, attempt.startedAt),
      })
    const { groupsClaim, groups } = this.#access
    const own = textsOf(claimAt(claims, groupsClaim))
    const role = ROLES.findLast((each) => groups[each].some((group) => own.includes(group)))
    if (role === undefined)
      throw new SignInError('no_role', { subject, detail: describeGroups(claims, groupsClaim) })
    const label = [claims['preferred_username'], claims['email']].find(
      (name) => typeof name === 'string',
    )
    return {
      subject,
      issuer: configuration.serverMetadata().issuer,
      label: (label ?? subject).slice(0, 100),
      role,
      // A clock ahead of ours makes nothing fresh for longer.
      provedAt: provedAt && Math.min(provedAt, this.#now()),
    }
  }

  /**
   * Each sign-in has a configuration of its own, so that it fetches the keys of the provider: one
   * that was withdrawn verifies nothing from then on.
   */
  async #configuration(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.#access
    if (this.#found === undefined || this.#now() >= this.#found.at + DISCOVERED_MS) {
      const metadata = client
        .discovery(new URL(issuer), clientId, undefined, undefined, {
          timeout: TIMEOUT_SECONDS,
          ...(isPlain(issuer) && { execute: [client.allowInsecureRequests] }),
        })
        .then((found) => found.serverMetadata())
      this.#found = { metadata, at: this.#now() }
    }
    const found = this.#found
    const metadata = await found.metadata.catch((cause: unknown) => {
      if (this.#found === found) this.#found = undefined
      throw discoveryError(issuer, cause)
    })
    // A provider answers a request that was not pushed with a page of its own, so it never returns.
    if (metadata.require_pushed_authorization_requests === true)
      throw new SignInError('provider_misconfigured', {
        detail:
          'The provider requires pushed authorization requests (PAR), which the console does not send.',
      })
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    // Metadata is the provider's, so a list can be anything.
    const authenticate = [methods].flat().includes('client_secret_basic')
      ? client.ClientSecretBasic
      : client.ClientSecretPost
    const configuration = new client.Configuration(
      metadata,
      clientId,
      undefined,
      clientSecret === undefined ? client.None() : authenticate(clientSecret.reveal()),
    )
    configuration.timeout = TIMEOUT_SECONDS
    // Without it, a token is believed because it came from the provider's address.
    client.enableNonRepudiationChecks(configuration)
    if (isPlain(issuer)) client.allowInsecureRequests(configuration)
    return configuration
  }
}

/** Why an `auth_time` is not of this sign-in. */
function describeStale(provedAt: number | undefined, startedAt: number): string {
  if (provedAt === undefined)
    return 'The ID token has no auth_time, so it does not say when you signed in.'
  const seconds = Math.round((startedAt - provedAt) / 1_000)
  return `By the auth_time of the ID token, you signed in ${seconds} s before you were asked to. The provider did not ask again, or its clock is behind.`
}

function isPlain(issuer: string): boolean {
  return isSecure(issuer) && issuer.startsWith('http:')
}

async function claimsOf(
  configuration: client.Configuration,
  url: URL,
  { secret }: Attempt,
): Promise<client.IDToken> {
  const { token_endpoint } = configuration.serverMetadata()
  // Anyone can call the callback. Only a sign-in at the provider gets an answer for its code.
  let isAnswered = false
  configuration[client.customFetch] = async (address, options) => {
    const response = await fetch(address, options as RequestInit)
    isAnswered ||= address === token_endpoint && response.ok
    return response
  }
  try {
    const tokens = await client.authorizationCodeGrant(configuration, url, {
      expectedState: secret('state'),
      expectedNonce: secret('nonce'),
      pkceCodeVerifier: secret('verifier'),
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (claims !== undefined) return claims
  } catch (cause) {
    throw new SignInError(failureOf(cause, isAnswered), { cause, detail: answerOf(cause) })
  }
  throw new SignInError('token_rejected')
}

/** What the operator did, or did too late. Every other error is one of the configuration. */
const OF_OPERATOR = ['access_denied', 'invalid_grant', 'login_required', 'interaction_required']

function failureOf(cause: unknown, isAnswered: boolean): SignInFailure {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  const isOther = !isAnswered && statusOf(cause) !== undefined
  if (code === undefined || code === 'OAUTH_TIMEOUT' || isOther) return 'provider_unavailable'
  if (isAnswered) return 'token_rejected'
  const error = errorIn(cause)
  return error === undefined || OF_OPERATOR.includes(error) ? 'not_signed_in' : 'provider_rejected'
}

function errorIn(cause: unknown): string | undefined {
  // Some providers state a wrong client secret in a header only.
  if (cause instanceof client.WWWAuthenticateChallengeError) return `status ${cause.status}`
  const isAnswer =
    cause instanceof client.ResponseBodyError || cause instanceof client.AuthorizationResponseError
  return isAnswer ? cause.error : undefined
}

/** What the provider answered, for the page. */
function answerOf(cause: unknown): string | undefined {
  const error = errorIn(cause) ?? statusOf(cause)
  if (error === undefined) return tlsFailureOf(cause)
  const { error_description: text } = cause as { readonly error_description?: unknown }
  const description = typeof text === 'string' ? ` (${outsideText(text)})` : ''
  return `The provider answered ${outsideText(error)}${description}.`
}

/** The status of a response that is not one of OpenID, such as the page of a firewall. */
function statusOf(cause: unknown): string | undefined {
  const { code, cause: found } = cause as { readonly code?: unknown; readonly cause?: unknown }
  if (!(found instanceof Response)) return undefined
  return `status ${found.status}${code === 'OAUTH_RESPONSE_IS_NOT_JSON' ? ' without JSON' : ''}`
}

function tlsFailureOf(failure: unknown): string | undefined {
  const { cause } = failure as { readonly cause?: { readonly code?: unknown } }
  const code = String(cause?.code)
  return /CERT|TLS|SSL|UNABLE_TO|EPROTO/.test(code)
    ? `The TLS connection to the provider failed: ${code}.`
    : undefined
}

/** Whether no provider answers, or another one than the access file names. */
function discoveryError(issuer: string, cause: unknown): SignInError {
  const { code, cause: found } = cause as { readonly code?: unknown; readonly cause?: unknown }
  const { status, body } = (found ?? {}) as {
    readonly status?: number
    readonly body?: { readonly issuer?: unknown }
  }
  const named = body?.issuer
  const at = `The access file has the issuer ${outsideText(issuer)}`
  if (typeof named === 'string') {
    const detail = `${at}, and the provider says ${outsideText(named)}. Every character counts, also a slash at the end.`
    return new SignInError('provider_misconfigured', { cause, detail })
  }
  const answered = statusOf(cause) ?? 'no OpenID configuration'
  // Without a code, there was no connection. A status from 500 on is an outage.
  if (code === undefined || code === 'OAUTH_TIMEOUT' || (status ?? 0) >= 500)
    return new SignInError('provider_unavailable', {
      cause,
      detail:
        status === undefined
          ? [`${at}.`, tlsFailureOf(cause)].filter(Boolean).join(' ')
          : `${at}, which answered ${answered}.`,
    })
  return new SignInError('provider_misconfigured', {
    cause,
    detail: `${at}, whose /.well-known/openid-configuration answered ${answered}.`,
  })
}
