import * as client from 'openid-client'
import { type Access, isSecure } from './access.ts'
import type { Attempt } from './attempts.ts'
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
export type SignInFailure = 'provider_unavailable' | 'not_signed_in' | 'token_rejected' | 'no_role'

export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly code: SignInFailure
  /** Whom the rejected token names; undefined if its signature does not verify. */
  readonly subject: string | undefined

  constructor(code: SignInFailure, given: { cause?: unknown; subject?: string } = {}) {
    super(code, { cause: given.cause })
    this.code = code
    this.subject = given.subject
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
      throw new SignInError('not_signed_in', { subject })
    const { groupsClaim, groups } = this.#access
    const listed = claims[groupsClaim]
    const own = (Array.isArray(listed) ? listed : [listed]).filter((one) => typeof one === 'string')
    const role = ROLES.findLast((each) => groups[each].some((group) => own.includes(group)))
    if (role === undefined) throw new SignInError('no_role', { subject })
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
      throw new SignInError('provider_unavailable', { cause })
    })
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const authenticate = methods.includes('client_secret_basic')
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
    throw new SignInError(failureOf(cause, isAnswered), { cause })
  }
  throw new SignInError('token_rejected')
}

function failureOf(cause: unknown, isAnswered: boolean): SignInFailure {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === undefined || code === 'OAUTH_TIMEOUT') return 'provider_unavailable'
  return isAnswered ? 'token_rejected' : 'not_signed_in'
}
