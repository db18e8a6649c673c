import {
  BODY_LIMITS,
  type Endpoint,
  PATH_IDS,
  PATH_TEXTS,
  parseId,
  type RequestId,
} from '@bonded/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastJsonStringify from 'fast-json-stringify'
import type { Static, TSchema } from 'typebox'
import type { Result } from '@bonded/core/domain/rejection'
import {
  type BackendCaller,
  type BrowserCaller,
  keyIdOf,
  type PhoneCaller,
  type PortalCaller,
  type Service,
  serviceDuring,
} from '@bonded/core/operations/service'
import { admitAfterBody, admitBeforeBody } from './admission.ts'
import { clientAddress } from './connection/client-address.ts'
import { auditedCall } from './audited-endpoints.ts'
import { answersHead } from './head.ts'
import { deprecationHeaders } from './response/deprecation.ts'
import { Rejected } from './response/rejected.ts'
import { endpointName, noteView } from './request-line.ts'
import { TimeLimits } from './connection/time-limits.ts'

/** The kinds of callers that an endpoint admits. */
type CallerOf<E extends Endpoint> = {
  backend: BackendCaller
  browser: BrowserCaller
  phone: PhoneCaller
  portal: PortalCaller
  anonymous: { readonly kind: 'anonymous' }
}[E['callers'][number]]

type BodyOf<E extends Endpoint> = E extends { body: { schema: infer S extends TSchema } }
  ? Static<S>
  : undefined
type PathId = keyof typeof PATH_IDS
type PathText = keyof typeof PATH_TEXTS
/** An id or a text of another form is undefined, so that it reads like an unknown one. */
type ParamsOf<E extends Endpoint> = E extends { params: infer S extends TSchema }
  ? {
      readonly [Name in keyof Static<S> & PathId]: ReturnType<
        typeof parseId<(typeof PATH_IDS)[Name]>
      >
    } & { readonly [Name in keyof Static<S> & PathText]: string | undefined }
  : object
type QueryOf<E extends Endpoint> = E extends { query: infer S extends TSchema } ? Static<S> : object
type HeadersOf<E extends Endpoint> = E extends { headers: infer S extends TSchema }
  ? Static<S>
  : object
type ResponsesOf<E extends Endpoint> = E extends { responses: infer A } ? A : object

/** The input of a handler: a parsed, validated and authenticated call. */
export interface Call<E extends Endpoint> {
  readonly service: Service
  readonly caller: CallerOf<E>
  readonly body: BodyOf<E>
  readonly params: ParamsOf<E>
  readonly query: QueryOf<E>
  readonly headers: HeadersOf<E>
  /** Returns the client's IP address, which a trusted proxy may name. */
  readonly address: () => string
  /** Returns a signal that aborts when the client disconnects. */
  readonly signal: () => AbortSignal
}

/** One of the endpoint's responses, with its name in the table. Null if it has no body. */
export type EndpointResponse<E extends Endpoint> =
  | {
      [Name in keyof ResponsesOf<E>]: readonly [
        Name,
        ResponsesOf<E>[Name] extends TSchema ? Static<ResponsesOf<E>[Name]> : never,
      ]
    }[keyof ResponsesOf<E>]
  | (E extends { responses: object } ? never : null)

/** Registers an endpoint with its handler. */
export type Route = (app: FastifyInstance, service: Service) => void

/**
 * Shorter than the time-out of callers. fastify's own time-out would create an abort controller for
 * every request.
 */
const HANDLER_TIMEOUT_MS = 8_000
/** The longest `wait_ms` of a poll plus a margin. */
const POLL_TIMEOUT_MS = 30_000
// Not the service's clock: a change of its time must not end the calls in progress.
const timeLimits = new TimeLimits()

/**
 * Joins an endpoint of the table to its handler: admission, validation, operation and response. The
 * endpoint's schema generates the serializer, so a member outside the schema cannot leak.
 */
export function serve<const E extends Endpoint>(
  endpoint: E,
  handle: (call: Call<E>) => Result<EndpointResponse<E>> | Promise<Result<EndpointResponse<E>>>,
): Route {
  const serializers = serializersOf(endpoint)
  const deprecation = endpoint.deprecation && deprecationHeaders(endpoint.deprecation)
  const routeName = endpointName(endpoint)
  return (app, service) => {
    app.route({
      method: endpoint.method,
      exposeHeadRoute: answersHead(endpoint.path),
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      ...(routeName ? { config: { routeName } } : {}),
      bodyLimit: endpoint.body?.limitBytes ?? BODY_LIMITS.none,
      schema: {
        ...(endpoint.body ? { body: endpoint.body.schema } : {}),
        ...(endpoint.query ? { querystring: endpoint.query } : {}),
        ...(endpoint.headers ? { headers: endpoint.headers } : {}),
      },
      onRequest(request, reply) {
        if (deprecation !== undefined) reply.headers(deprecation)
        return admitBeforeBody({ service, endpoint, request, reply })
      },
      preValidation: (request, _reply, done) => done(checkBodyPresence(endpoint, request)),
      async handler(request, reply) {
        const caller = await admitAfterBody({ service, endpoint, request, reply })
        const params = idsOf(request.params as Readonly<Record<string, string>>)
        const requestId = request.id as RequestId
        const during = serviceDuring(service, { requestId, keyId: keyIdOf(caller) })
        const address = () => clientAddress(request.raw, service.settings.trustedProxies)
        const handled = handle({
          service: auditedCall(during, { endpoint: routeName, caller, requestId, params, address }),
          caller: caller as CallerOf<E>,
          body: request.body as BodyOf<E>,
          params: params as ParamsOf<E>,
          query: request.query as QueryOf<E>,
          headers: request.headers as HeadersOf<E>,
          address,
          // Created on demand, because a signal is expensive and only a poll uses it.
          signal: () => request.signal,
        })
        const result =
          handled instanceof Promise
            ? await timeLimits.within(
                handled,
                endpoint.query ? POLL_TIMEOUT_MS : HANDLER_TIMEOUT_MS,
              )
            : handled
        if (!result.ok) throw new Rejected(result.rejection)
        if (result.value !== null) noteView(request, result.value[1] as object)
        return send(reply, endpoint, {
          response: result.value as readonly [string, unknown] | null,
          serializers,
        })
      },
    })
  }
}

/** Decodes the ids and the texts of a path. */
function idsOf(params: Readonly<Record<string, string>>): object {
  const ids: Partial<Record<PathId | PathText, string | undefined>> = {}
  for (const name of Object.keys(params) as (PathId | PathText)[]) {
    const text = params[name] ?? ''
    if (name !== 'subject_ref') ids[name] = parseId(PATH_IDS[name], text)
    else ids[name] = PATH_TEXTS[name].test(text) ? text : undefined
  }
  return ids
}

function checkBodyPresence(endpoint: Endpoint, request: FastifyRequest): Error | undefined {
  const { body } = request
  if (endpoint.body === undefined) {
    const empty =
      body === undefined ||
      body === null ||
      (typeof body === 'object' && !Array.isArray(body) && Object.keys(body).length === 0)
    return empty ? undefined : new Rejected({ reason: 'unexpected_body' })
  }
  if (body !== undefined && body !== null) return undefined
  if (endpoint.body.optional !== true) return new Rejected({ reason: 'missing_body' })
  request.body = {}
  return undefined
}

function send(
  reply: FastifyReply,
  endpoint: Endpoint,
  {
    response,
    serializers,
  }: {
    response: readonly [string, unknown] | null
    serializers: ReadonlyMap<string, () => Serialize>
  },
): FastifyReply {
  reply.code(endpoint.status)
  if (response === null) return reply.send()
  const [name, value] = response
  const serialize = serializers.get(name)?.()
  if (serialize === undefined) throw new RangeError(`the endpoint has no answer ${name}`)
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(serialize(value as never))
}

type Serialize = (value: never) => string

/**
 * Returns one serializer for each response, compiled at first use. Compiling all of them would take
 * a third of the service's start time.
 */
function serializersOf({ responses = {} }: Endpoint): ReadonlyMap<string, () => Serialize> {
  return new Map(
    Object.entries(responses).map(([name, schema]) => {
      let compiled: Serialize | undefined
      return [name, () => (compiled ??= fastJsonStringify(plain(schema)))]
    }),
  )
}

/** Returns the schema without the hidden members that typebox adds. */
function plain(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema)) as object
}
