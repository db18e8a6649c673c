import { BODY_LIMITS, type Endpoint, type RequestId } from '@bonded/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastJsonStringify from 'fast-json-stringify'
import type { Static, TSchema } from 'typebox'
import type { Result } from '../domain/refusal.ts'
import {
  type BackendCaller,
  type BrowserCaller,
  type PhoneCaller,
  type Service,
  serviceDuring,
} from '../operations/service.ts'
import { admitAfterBody, admitBeforeBody } from './admission.ts'
import { clientAddress } from './client-address.ts'
import { Refused } from './refused.ts'
import { endpointName, noteAnswered } from './request-line.ts'

/** The callers that an endpoint's handler can meet. */
type CallerOf<E extends Endpoint> = {
  backend: BackendCaller
  browser: BrowserCaller
  phone: PhoneCaller
  anybody: { readonly kind: 'anybody' }
}[E['callers'][number]]

type BodyOf<E extends Endpoint> = E extends { body: { schema: infer S extends TSchema } }
  ? Static<S>
  : undefined
type AnswersOf<E extends Endpoint> = E extends { answers: infer A } ? A : object

/** What a handler is given: parsed, validated, authenticated. */
export interface Call<E extends Endpoint> {
  readonly service: Service
  readonly caller: CallerOf<E>
  readonly body: BodyOf<E>
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | undefined>>
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The IP address that the request comes from, as far as trusted proxies vouch for it. */
  readonly address: () => string
  /** Aborted when the client has gone. */
  readonly signal: () => AbortSignal
}

/** One of the endpoint's answers, by the name it has there; null where it answers without a body. */
export type Answer<E extends Endpoint> =
  | {
      [Name in keyof AnswersOf<E>]: readonly [
        Name,
        AnswersOf<E>[Name] extends TSchema ? Static<AnswersOf<E>[Name]> : never,
      ]
    }[keyof AnswersOf<E>]
  | (E extends { answers: object } ? never : null)

/** An endpoint with its handler, ready to be registered. */
export type Route = (app: FastifyInstance, service: Service) => void

/** Below what a caller waits. fastify's own time-out makes an abort controller for every request, and aborts it. */
const HANDLER_TIMEOUT_MS = 8_000
/** A poll may hold its handler for as long as it may ask to wait, and a little. */
const POLL_TIMEOUT_MS = 30_000

/**
 * Joins an endpoint of the table to its handler: who, what comes in, what is done, what can go out. Answers are
 * written by a serialiser made from the endpoint's schema, so a member that is not in it cannot leak.
 */
export function serve<const E extends Endpoint>(
  endpoint: E,
  handle: (call: Call<E>) => Result<Answer<E>> | Promise<Result<Answer<E>>>,
): Route {
  const serialisers = serialisersOf(endpoint)
  const routeName = endpointName(endpoint)
  return (app, service) => {
    app.route({
      method: endpoint.method,
      url: endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      ...(routeName ? { config: { routeName } } : {}),
      bodyLimit: endpoint.body?.limitBytes ?? BODY_LIMITS.none,
      schema: {
        ...(endpoint.body ? { body: endpoint.body.schema } : {}),
        ...(endpoint.query ? { querystring: endpoint.query } : {}),
        ...(endpoint.headers ? { headers: endpoint.headers } : {}),
      },
      onRequest: (request, reply) => admitBeforeBody({ service, endpoint, request, reply }),
      preValidation: (request, _reply, done) => done(judgeBody(endpoint, request)),
      async handler(request, reply) {
        const caller = await admitAfterBody({ service, endpoint, request, reply })
        const answered = handle({
          service: serviceDuring(service, request.id as RequestId),
          caller: caller as CallerOf<E>,
          body: request.body as BodyOf<E>,
          params: request.params as Call<E>['params'],
          query: request.query as Call<E>['query'],
          headers: request.headers as Call<E>['headers'],
          address: () => clientAddress(request.raw, service.settings.trustedProxies),
          // Making one costs; only a poll asks for it.
          signal: () => request.signal,
        })
        const result =
          answered instanceof Promise
            ? await withinTime(answered, endpoint.query ? POLL_TIMEOUT_MS : HANDLER_TIMEOUT_MS)
            : answered
        if (!result.ok) throw new Refused(result.refusal)
        if (result.value !== null) noteAnswered(request, result.value[1] as object)
        return send(reply, endpoint, {
          answer: result.value as readonly [string, unknown] | null,
          serialisers,
        })
      },
    })
  }
}

/** The answer, or a refusal when it takes too long. What was begun goes on; only nobody waits for it any more. */
function withinTime<T>(answer: Promise<T>, limitMs: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const timer = setTimeout(() => reject(new Refused({ reason: 'overloaded' })), limitMs)
  answer.then(
    (value) => {
      clearTimeout(timer)
      resolve(value)
    },
    (failure: unknown) => {
      clearTimeout(timer)
      reject(failure)
    },
  )
  return promise
}

function judgeBody(endpoint: Endpoint, request: FastifyRequest): Error | undefined {
  const { body } = request
  if (endpoint.body === undefined) {
    const empty =
      body === undefined ||
      body === null ||
      (typeof body === 'object' && !Array.isArray(body) && Object.keys(body).length === 0)
    return empty ? undefined : new Refused({ reason: 'unexpected_body' })
  }
  if (body !== undefined && body !== null) return undefined
  if (endpoint.body.optional !== true) return new Refused({ reason: 'missing_body' })
  request.body = {}
  return undefined
}

function send(
  reply: FastifyReply,
  endpoint: Endpoint,
  {
    answer,
    serialisers,
  }: {
    answer: readonly [string, unknown] | null
    serialisers: ReadonlyMap<string, () => Serialise>
  },
): FastifyReply {
  reply.code(endpoint.status)
  if (answer === null) return reply.send()
  const [name, value] = answer
  const serialise = serialisers.get(name)?.()
  if (serialise === undefined) throw new RangeError(`the endpoint has no answer ${name}`)
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(serialise(value as never))
}

type Serialise = (value: never) => string

/** One for each answer, made when it is first given: making all of them is a third of what the service takes to start. */
function serialisersOf({ answers = {} }: Endpoint): ReadonlyMap<string, () => Serialise> {
  return new Map(
    Object.entries(answers).map(([name, schema]) => {
      let made: Serialise | undefined
      return [name, () => (made ??= fastJsonStringify(plain(schema)))]
    }),
  )
}

/** The schema without the hidden members typebox adds. */
function plain(schema: TSchema): object {
  return JSON.parse(JSON.stringify(schema)) as object
}
