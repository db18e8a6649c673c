import {
  BondedPairAssertion,
  ClaimRequest,
  CreatedSession,
  CreateSessionRequest,
  DeclineRequest,
  DeviceChallenge,
  DeviceRecord,
  ENDPOINTS,
  type Endpoint,
  ErrorResponse,
  EvidenceAnswer,
  EvidenceRequest,
  FormCompleted,
  FullSession,
  Health,
  idPattern,
  LIMITS,
  type LimitName,
  PhoneSession,
  PublicSession,
  type Reason,
  REASONS,
  RegisterDeviceRequest,
  RegisteredDevice,
  RotatedToken,
  RotateTokenRequest,
  Timeline,
  Version,
} from '@bonded/contract'
import { statusOf } from './refusal-to-wire.ts'

/** Refusals that any endpoint can give, whatever it does. */
const EVERYWHERE: readonly Reason[] = ['malformed_request', 'internal_error', 'store_unavailable']
/** One that takes none is sent one all the same. */
const WITH_BODY: readonly Reason[] = ['malformed_json', 'unsupported_media_type', 'body_too_large']
const WITH_CREDENTIAL: readonly Reason[] = ['credential_missing', 'origin_not_allowed']

/** What is sent and answered, by the names that clients made from the document give their types. */
const SCHEMAS = {
  BondedPairAssertion,
  ClaimRequest,
  CreatedSession,
  CreateSessionRequest,
  DeclineRequest,
  DeviceChallenge,
  DeviceRecord,
  ErrorResponse,
  EvidenceAnswer,
  EvidenceRequest,
  FormCompleted,
  FullSession,
  Health,
  PhoneSession,
  PublicSession,
  RegisterDeviceRequest,
  RegisteredDevice,
  RotatedToken,
  RotateTokenRequest,
  Timeline,
  Version,
}
const NAMES = new Map<object, string>(
  Object.entries(SCHEMAS).map(([name, schema]) => [schema, name]),
)

/** By its name, where it has one. */
function named(schema: object): object {
  const name = NAMES.get(schema)
  return name === undefined ? schema : { $ref: `#/components/schemas/${name}` }
}

/** The OpenAPI 3.1 document of the endpoint table. Nothing in it is written by hand a second time. */
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
      summary: 'Gates one high-risk action in a browser behind proof from the person’s own phone.',
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
          description: 'sk_beta_…: the customer’s backend.',
        },
        publishableKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'pk_beta_…: a browser, from an approved origin, with X-Bond-Watch.',
        },
        deviceToken: { type: 'http', scheme: 'bearer', description: 'dt_…: a phone.' },
      },
    },
  }
}

const SCHEMES = {
  backend: 'serverCredential',
  browser: 'publishableKey',
  phone: 'deviceToken',
} as const

/** Headers that every endpoint reads and none refuses. */
const CORRELATION = [
  {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: `The id to give this request, if it has the form ${idPattern('req')}; otherwise the service makes one.`,
  },
  {
    name: 'traceparent',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description: 'W3C Trace Context; the trace id is logged.',
  },
]

function operation(operationId: string, endpoint: Endpoint): object {
  const open = endpoint.callers.includes('anybody')
  const security = endpoint.callers.flatMap((caller) =>
    caller === 'anybody' ? [] : [{ [SCHEMES[caller]]: [] }],
  )
  return {
    operationId,
    summary: endpoint.summary,
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

/** As it is where the operator says nothing else. */
function describeLimit(name: LimitName): string {
  const { quota, every, per, ...rest } = LIMITS[name]
  const often =
    every === 'session'
      ? `${quota} in all`
      : `${quota} a minute${'burst' in rest ? `, ${rest.burst} at once` : ''}`
  return `\`${name}\`: ${often}, for each ${per}`
}

/** Written once below `components`, and named wherever an answer carries them. */
const HEADERS = {
  'X-Request-Id': text('The id to name when asking about this answer.'),
  RateLimit: text(
    'How each limit stands: `"name";r=<calls left>;t=<seconds until one more>`. Absent where nothing was counted.',
  ),
  'RateLimit-Policy': text(
    'The limits that were counted: `"name";q=<quota>;w=<seconds>;burst=<at once>`.',
  ),
  'Retry-After': {
    schema: { type: 'integer', minimum: 1 },
    description: 'Seconds after which to try again.',
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

function success({ answers, summary, limits }: Endpoint): object {
  const schemas = Object.values(answers ?? {}).map(named)
  const headers = headersNamed('X-Request-Id', ...(limits ? LIMIT_HEADERS : []))
  if (schemas.length === 0) return { description: summary, ...headers }
  // anyOf: one caller's view may satisfy another's schema, which oneOf would call an error.
  const schema = schemas.length === 1 ? schemas[0] : { anyOf: schemas }
  return { description: summary, ...headers, content: { 'application/json': { schema } } }
}

function failures(endpoint: Endpoint): Record<string, object> {
  const credentialed = !endpoint.callers.includes('anybody')
  const limited: readonly Reason[] =
    credentialed || endpoint.limits !== undefined ? ['rate_limited'] : []
  const reasons = [
    ...EVERYWHERE,
    ...limited,
    ...(endpoint.method === 'GET' ? [] : WITH_BODY),
    ...(credentialed ? WITH_CREDENTIAL : []),
    ...endpoint.refusals,
  ]
  const byStatus = new Map<number, Reason[]>()
  for (const reason of reasons)
    byStatus.set(statusOf(reason), [...(byStatus.get(statusOf(reason)) ?? []), reason])
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      status,
      {
        description: list.map((reason) => `\`${reason}\`: ${REASONS[reason].message}`).join('\n'),
        ...headersNamed(...failureHeaders(endpoint, status)),
        content: { 'application/json': { schema: named(ErrorResponse) } },
      },
    ]),
  )
}

/** A call that was counted tells so whatever becomes of it; a bad credential is counted at any endpoint that takes one. */
function failureHeaders({ limits }: Endpoint, status: number): readonly (keyof typeof HEADERS)[] {
  const counted = limits !== undefined || status === 401 || status === 429
  return [
    ...(counted ? LIMIT_HEADERS : []),
    ...(status === 429 || status === 503 ? (['Retry-After'] as const) : []),
  ]
}
