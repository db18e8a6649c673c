import { isDisplayValue } from '@bonded/contract'
import {
  type AuthorizationDetail,
  type CIBAConfiguration,
  type ClientMetadata,
  type Configuration,
  errors,
  type JWKS,
  type KoaContextWithOIDC,
  Provider,
  type TokenEndpointGrantContext,
} from 'oidc-provider'
import { Compile } from 'typebox/compile'
import type { ApprovalType, CibaConfig } from './config.ts'
import { APPROVAL_ACR, type Requests } from './requests.ts'
import type { SqliteRows } from './sqlite-rows.ts'

const CIBA = 'urn:openid:params:grant-type:ciba'
/** A resource accepts a token for this long. */
const TOKEN_TTL_S = 60
/** No workflow lets a user answer for longer. A request ends with its session. */
const LONGEST_REQUEST_S = 86_400
/** Ways to name the user that this provider does not have, and what it would ignore. */
const REFUSED = ['login_hint_token', 'id_token_hint', 'request_context', 'user_code']
/** The algorithms of FAPI 1.0. */
const REQUEST_ALGORITHMS = ['ES256', 'PS256'] as const

export interface ProviderOptions {
  /** Sends notifications. */
  readonly fetch: NonNullable<Configuration['fetch']>
  readonly config: CibaConfig
  readonly jwks: JWKS
  readonly rows: SqliteRows
  readonly requests: Requests
}

type NamesOf = Parameters<Provider['registerGrantType']>[2]

/** The OpenID provider: clients poll it, and users answer on their phones. */
export function cibaProvider(options: ProviderOptions): Provider {
  const { config, jwks, rows, requests, fetch } = options
  /** Answers a poll before the library does, which issues the tokens. */
  class CibaProvider extends Provider {
    override registerGrantType<Params extends object>(
      name: string,
      handler: (ctx: TokenEndpointGrantContext<Params>) => Promise<void> | void,
      ...names: readonly NamesOf[]
    ): void {
      const answer: typeof handler = (ctx) => requests.answer(ctx, async () => handler(ctx))
      super.registerGrantType(name, name === CIBA ? answer : handler, ...names)
    }
  }
  const provider = new CibaProvider(config.issuer, {
    clients: config.clients.map(metadataOf),
    jwks,
    adapter: (kind) => rows.adapter(kind),
    fetch,
    clientAuthMethods: ['private_key_jwt'],
    enabledJWA: {
      clientAuthSigningAlgValues: [...REQUEST_ALGORITHMS, 'EdDSA', 'Ed25519'],
      requestObjectSigningAlgValues: REQUEST_ALGORITHMS,
    },
    clientBasedCORS: () => false,
    scopes: ['openid'],
    claims: { openid: ['sub', 'acr'] },
    acrValues: [APPROVAL_ACR],
    issueRefreshToken: () => false,
    extraTokenClaims: (ctx) => ({ approval: ctx.state['approval'] as object }),
    // Also when the token is issued: the list may be another one by then.
    findAccount: (ctx, accountId) =>
      isSubjectOf(config, ctx, accountId)
        ? { accountId, claims: () => ({ sub: accountId, acr: APPROVAL_ACR }) }
        : undefined,
    ttl: {
      AccessToken: TOKEN_TTL_S,
      IdToken: TOKEN_TTL_S,
      Grant: TOKEN_TTL_S,
      BackchannelAuthenticationRequest: (ctx) => {
        const requested = Number(ctx.oidc.params?.['requested_expiry'] ?? LONGEST_REQUEST_S)
        return Math.min(requested, LONGEST_REQUEST_S)
      },
    },
    features: featuresOf(config, requests),
  })
  // The server sets the headers of a proxy itself.
  provider.proxy = true
  return provider
}

function featuresOf(config: CibaConfig, requests: Requests): Configuration['features'] {
  return {
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    dPoP: { enabled: true },
    // With both of these, a client can sign its requests as FAPI-CIBA requires.
    requestObjects: { enabled: true },
    fapi: { enabled: true, profile: '1.0 Final' },
    ciba: cibaFeature(config, requests),
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx) => audienceOf(config, ctx) ?? [],
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, audience) => {
        if (!config.types.some((type) => type.audience === audience))
          throw new errors.InvalidTarget()
        return {
          scope: '',
          audience,
          accessTokenTTL: TOKEN_TTL_S,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }
      },
    },
    richAuthorizationRequests: {
      enabled: true,
      types: Object.fromEntries(config.types.map((type) => [type.type, validatorOf(type)])),
      authorizationDetailsForAccessToken: (_ctx, _token, source) => source?.rar,
      authorizationDetailsForGrantSource: () => undefined,
      authorizationDetailsForIntrospection: () => undefined,
    },
  }
}

function cibaFeature(config: CibaConfig, requests: Requests): CIBAConfiguration {
  return {
    enabled: true,
    deliveryModes: ['poll', 'ping'],
    // Only what `validateRequestContext` accepts gets here.
    processLoginHintToken: () => undefined,
    processLoginHint: (_ctx, hint) => hint,
    verifyUserCode: () => {},
    validateBindingMessage: (_ctx, message) => {
      if (message === undefined) return
      if (message.length > 256 || !isDisplayValue(message))
        throw new errors.InvalidBindingMessage('the message is no text that a phone may show')
    },
    validateRequestContext: (ctx) => {
      const { params = {} } = ctx.oidc
      for (const name of REFUSED)
        if (params[name] !== undefined) throw new errors.InvalidRequest(`${name} is not supported`)
      const acr = params['acr_values']
      if (acr !== undefined && !String(acr).split(' ').includes(APPROVAL_ACR))
        throw new errors.UnmetAuthenticationRequirements(
          'a user only approves, and signs in nowhere',
        )
      if (detailsIn(ctx).length !== 1)
        throw new errors.InvalidAuthorizationDetails('send authorization_details with one element')
      if (params['resource'] !== audienceOf(config, ctx)) throw new errors.InvalidTarget()
    },
    triggerAuthenticationDevice: (ctx, request) => requests.ask(ctx, request),
  }
}

function metadataOf(client: CibaConfig['clients'][number]): ClientMetadata {
  const { client_id, types, jwks, notification_endpoint: endpoint } = client
  const alg = client.request_signing_alg
  return {
    client_id,
    jwks,
    grant_types: [CIBA],
    response_types: [],
    redirect_uris: [],
    token_endpoint_auth_method: 'private_key_jwt',
    backchannel_token_delivery_mode: endpoint === undefined ? 'poll' : 'ping',
    ...(endpoint !== undefined && { backchannel_client_notification_endpoint: endpoint }),
    ...(alg !== undefined && { backchannel_authentication_request_signing_alg: alg }),
    dpop_bound_access_tokens: true,
    id_token_signed_response_alg: 'ES256',
    authorization_details_types: [...types],
  }
}

function validatorOf({ type, members, optional = [] }: ApprovalType) {
  const schema = Compile({
    type: 'object',
    additionalProperties: false,
    required: ['type', ...Object.keys(members).filter((name) => !optional.includes(name))],
    properties: { ...members, type: { const: type } },
  } as never)
  return {
    validate: (_ctx: KoaContextWithOIDC, detail: AuthorizationDetail) => {
      const problems = schema
        .Errors(detail)
        .map(({ instancePath, message }) => `${instancePath || '/'} ${message}`)
      if (problems.length > 0) throw new errors.InvalidAuthorizationDetails(problems.join(', '))
    },
  }
}

function isSubjectOf({ clients }: CibaConfig, ctx: KoaContextWithOIDC, subject: string): boolean {
  const client = clients.find(({ client_id }) => client_id === ctx.oidc.client?.clientId)
  return client?.subjects.includes(subject) === true
}

/** The library has parsed and validated them before. */
function detailsIn(ctx: KoaContextWithOIDC): readonly AuthorizationDetail[] {
  const given = ctx.oidc.params?.['authorization_details']
  return given === undefined ? [] : (JSON.parse(String(given)) as AuthorizationDetail[])
}

/** The resource of what the client asks for. */
function audienceOf({ types }: CibaConfig, ctx: KoaContextWithOIDC): string | undefined {
  const [details] = detailsIn(ctx)
  return types.find(({ type }) => type === details?.type)?.audience
}
