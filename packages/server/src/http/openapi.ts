import * as contract from '@bonded/contract'
import {
  ENDPOINTS,
  type Endpoint,
  ErrorResponse,
  idPattern,
  LIMITS,
  type LimitName,
  type Reason,
  REASONS,
  statusOf,
} from '@bonded/contract'
import { opened } from './opened-schema.ts'
import { WITH_RETRY_AFTER } from './response/rejection-to-wire.ts'

/** Rejections that any endpoint can return. */
const EVERYWHERE: readonly Reason[] = [
  'malformed_request',
  'internal_error',
  'store_unavailable',
  'operation_timeout',
]
/** Rejections of a body. A client can also send one to an endpoint that takes none. */
const WITH_BODY: readonly Reason[] = ['malformed_json', 'unsupported_media_type', 'body_too_large']
const WITH_CREDENTIAL: readonly Reason[] = [
  'credential_missing',
  'credential_invalid',
  'credential_not_accepted',
  'origin_not_allowed',
]
/** Probes of the process, to which the service responds during an overload too. */
const PROBES: readonly Endpoint[] = [ENDPOINTS.alive, ENDPOINTS.ready]

/** The bodies of requests. No response has the same schema. */
const REQUESTS: ReadonlySet<unknown> = new Set(
  Object.values<Endpoint>(ENDPOINTS).map(({ body }) => body?.schema),
)
const RESPONSES: ReadonlySet<unknown> = new Set([
  ErrorResponse,
  ...Object.values<Endpoint>(ENDPOINTS).flatMap(({ responses }) => Object.values(responses ?? {})),
])
/** The names of the contract, which generated clients use as type names. */
const NAMES = new Map(
  Object.entries(contract as Readonly<Record<string, unknown>>).flatMap(([name, value]) =>
    REQUESTS.has(value) || RESPONSES.has(value) ? [[value as object, name] as const] : [],
  ),
)
const SCHEMAS = Object.fromEntries(
  [...NAMES].map(([schema, name]) => [name, RESPONSES.has(schema) ? opened(schema) : schema]),
)

/** Returns a reference to a named schema, or an unnamed schema itself. */
function named(schema: object): object {
  const name = NAMES.get(schema)
  return name === undefined ? schema : { $ref: `#/components/schemas/${name}` }
}

/** Generates the OpenAPI 3.1 document from the endpoint table. */
export function openApiDocument({ origin, version }: { origin: string; version: string }): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const [operationId, endpoint] of Object.entries(ENDPOINTS) as [string, Endpoint][]) {
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [endpoint.method.toLowerCase()]: operation(operationId, endpoint),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Bonded Sessions',
      version,
      summary: 'Protects a high-risk web action with proof from the user’s own phone.',
      description:
        'Private beta. Credentials are not self-serve: an operator issues them after review.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: origin }],
    paths,
    components: {
      schemas: SCHEMAS,
      headers: HEADERS,
      securitySchemes: {
        serverCredential: {
          type: 'http',
          scheme: 'bearer',
          description: 'sk_beta_…: the tenant’s backend.',
        },
        publishableKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'pk_beta_…: a browser, from an approved origin, with X-Bond-Watch.',
        },
        deviceToken: { type: 'http', scheme: 'bearer', description: 'dt_…: a phone.' },
        portalToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'wpt_…: the portal of webhooks, for ten minutes.',
        },
      },
    },
  }
}

const SCHEMES = {
  backend: 'serverCredential',
  browser: 'publishableKey',
  phone: 'deviceToken',
  portal: 'portalToken',
} as const

/** Optional headers that every endpoint reads and never rejects. */
const CORRELATION = [
  {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: `Request id, of the form ${idPattern('req')}. The service generates one if it is missing or malformed.`,
  },
  {
    name: 'traceparent',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: 'W3C Trace Context. The service logs the trace id.',
  },
]

function operation(operationId: string, endpoint: Endpoint): object {
  const open = endpoint.callers.includes('anonymous')
  const security = endpoint.callers.flatMap((caller) =>
    caller === 'anonymous' ? [] : [{ [SCHEMES[caller]]: [] }],
  )
  return {
    operationId,
    summary: endpoint.summary,
    ...(endpoint.deprecation ? { deprecated: true } : {}),
    ...(endpoint.limits
      ? { description: `Limits: ${endpoint.limits.map(describeLimit).join('; ')}.` }
      : {}),
    security: open ? [{}, ...security] : security,
    parameters: [
      ...parameters('path', endpoint.params),
      ...parameters('query', endpoint.query),
      ...parameters('header', endpoint.headers),
      ...CORRELATION,
    ],
    ...(endpoint.body
      ? {
          requestBody: {
            required: endpoint.body.optional !== true,
            content: { 'application/json': { schema: named(endpoint.body.schema) } },
          },
        }
      : {}),
    responses: { [endpoint.status]: success(endpoint), ...failures(endpoint) },
  }
}

function parameters(where: 'path' | 'query' | 'header', schema: Endpoint['params']): object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, object>
    required?: string[]
  }
  return Object.entries(properties).map(([name, member]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    schema: member,
  }))
}

/** Describes the default of a limit. */
function describeLimit(name: LimitName): string {
  const { quota, every, per, ...optional } = LIMITS[name]
  const often =
    every === 'session'
      ? `${quota} in total`
      : `${quota} per minute${'burst' in optional ? `, bursts of ${optional.burst}` : ''}`
  return `\`${name}\`: ${often}, for each ${per}`
}

/** Response headers, defined once in `components` and referenced by every response. */
const HEADERS = {
  'X-Request-Id': text('Request id. Include it when you report a problem with this response.'),
  RateLimit: text(
    'Remaining quota of each limit: `"name";r=<calls left>;t=<seconds until one more>`. Absent if no limit applies.',
  ),
  'RateLimit-Policy': text('The limits that apply: `"name";q=<quota>;w=<seconds>;burst=<burst>`.'),
  'Retry-After': {
    schema: { type: 'integer', minimum: 1 },
    description: 'Seconds to wait before the next attempt.',
  },
} as const
const LIMIT_HEADERS = ['RateLimit', 'RateLimit-Policy'] as const

function text(description: string) {
  return { schema: { type: 'string' }, description }
}

function headersNamed(...names: readonly (keyof typeof HEADERS)[]): { headers?: object } {
  if (names.length === 0) return {}
  return {
    headers: Object.fromEntries(
      names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    ),
  }
}

function success({ responses, summary, limits }: Endpoint): object {
  const schemas = Object.values(responses ?? {}).map((schema) =>
    NAMES.has(schema) ? named(schema) : opened(schema),
  )
  const headers = headersNamed('X-Request-Id', ...(limits ? LIMIT_HEADERS : []))
  if (schemas.length === 0) return { description: summary, ...headers }
  // `anyOf`, because one view may satisfy two schemas, which `oneOf` would reject.
  const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas }
  return { description: summary, ...headers, content: { 'application/json': { schema } } }
}

/** Returns the reasons that an endpoint rejects with. */
export function reasonsOf(endpoint: Endpoint): readonly Reason[] {
  const credentialed = !endpoint.callers.includes('anonymous')
  const reasons: readonly Reason[] = [
    ...EVERYWHERE,
    ...(PROBES.includes(endpoint) ? [] : (['overloaded'] as const)),
    ...(credentialed || endpoint.limits !== undefined ? (['rate_limited'] as const) : []),
    ...(endpoint.method === 'GET' ? [] : WITH_BODY),
    ...(credentialed ? WITH_CREDENTIAL : []),
    ...(endpoint.callers.includes('phone') && endpoint.acceptsExpiredToken !== true
      ? (['device_token_expired'] as const)
      : []),
    ...endpoint.rejections,
  ]
  return [...new Set(reasons)]
}

function failures(endpoint: Endpoint): Record<string, object> {
  return Object.fromEntries(
    [...Map.groupBy(reasonsOf(endpoint), statusOf)].map(([status, list]) => [
      status,
      {
        description: list.map((reason) => `\`${reason}\`: ${REASONS[reason].message}`).join('\n'),
        ...headersNamed(...failureHeaders(endpoint, status)),
        content: { 'application/json': { schema: named(ErrorResponse) } },
      },
    ]),
  )
}

/** Every counted call reports its limits. A 401 counts as an invalid credential. */
function failureHeaders({ limits }: Endpoint, status: number): readonly (keyof typeof HEADERS)[] {
  const counted = limits !== undefined || status === 401 || status === 429
  return [
    ...(counted ? LIMIT_HEADERS : []),
    ...(WITH_RETRY_AFTER.includes(status) ? (['Retry-After'] as const) : []),
  ]
}
