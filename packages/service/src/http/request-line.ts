import type { IncomingHttpHeaders } from 'node:http'
import {
  ENDPOINTS,
  type Endpoint,
  type EndpointName,
  makeId,
  parseId,
  type RequestId,
  type SessionId,
  type TenantId,
} from '@bonded/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Refusal } from '../domain/refusal.ts'
import type { Caller } from '../operations/service.ts'
import type { Random } from '../ports/keyring.ts'
import type { Meter, RouteName } from '../ports/meter.ts'

/**
 * What is written down of a request: ids, words of closed lists and numbers, and no member that could take
 * anything else. So there is no place for a secret, a nonce, a query or a path as it was sent.
 */
export interface RequestLine {
  readonly requestId: RequestId
  /** Of the caller's `traceparent`, so that its traces lead here. */
  readonly traceId?: string | undefined
  readonly method: string | undefined
  /** The route's template, never the path. */
  readonly route: string
  readonly status: number
  readonly refusal?: Refusal | undefined
  readonly ms: number
  readonly tenantId?: TenantId | undefined
  readonly sessionId?: SessionId | undefined
}

/** Writes a request down and has it counted: one line, whoever answered it. */
export type TellRequest = (line: RequestLine, name: RouteName) => void

export function requestLogger(log: Logger, meter: Meter): TellRequest {
  return (
    { requestId, traceId, method, route, status, refusal, ms, tenantId, sessionId },
    name,
  ) => {
    // Named one by one: members are copied for every request of the service. What is undefined pino leaves out.
    const line = {
      requestId,
      traceId,
      method,
      route,
      status,
      tenantId,
      sessionId,
      ms: Math.round(ms * 10) / 10,
    }
    log.info(
      refusal === undefined ? line : { ...line, reason: refusal.reason, step: refusal.step },
      'request',
    )
    meter.answered({ route: name, ms, reason: refusal?.reason })
  }
}

/**
 * The id of a request: the one its caller gave it, where that has the form of ours (protocol 2), else a new one.
 * Anything else is passed over: an id that a caller can choose freely would be a place to write into our log.
 */
export function requestIdOf(headers: IncomingHttpHeaders, random: Random): RequestId {
  const given = headers['x-request-id']
  return (
    (typeof given === 'string' ? parseId('req', given) : undefined) ?? makeId('req', random.id())
  )
}

/** W3C Trace Context: version, trace id, parent id, flags. Later versions may add to it. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/

export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined
}

/** Tells of every request that fastify answers. */
export function logRequests(app: FastifyInstance, tell: TellRequest): void {
  app.decorateRequest('refusal', undefined)
  app.decorateRequest('tenantId', undefined)
  app.decorateRequest('sessionId', undefined)
  app.addHook('onResponse', (request, reply, done) => {
    const { url, config } = request.routeOptions
    const line: RequestLine = {
      requestId: request.id as RequestId,
      traceId: traceIdOf(request.headers),
      method: request.method,
      route: url ?? 'unmatched',
      status: reply.statusCode,
      refusal: request.refusal,
      ms: reply.elapsedTime,
      tenantId: request.tenantId,
      sessionId: request.sessionId,
    }
    tell(line, nameOf(config.routeName, request))
    done()
  })
}

/** A poll that waits is slow by intent: counted apart, it does not hide a slow reading. */
function nameOf(name: RouteName | undefined, { query }: FastifyRequest): RouteName {
  if (name !== 'getSession') return name ?? 'unmatched'
  return (query as { wait_ms?: string } | undefined)?.wait_ms === undefined ? name : 'pollSession'
}

const NAMES = new Map(
  (Object.entries(ENDPOINTS) as [EndpointName, Endpoint][]).map(([name, endpoint]) => [
    endpoint,
    name,
  ]),
)

/** The name of an endpoint in the table. */
export function endpointName(endpoint: Endpoint): EndpointName | undefined {
  return NAMES.get(endpoint)
}

/** Notes for the line whom and which session a request is about, as far as that is known before it is done. */
export function noteAsked(request: FastifyRequest, caller: Caller): void {
  if (caller.kind === 'backend') request.tenantId = caller.credential.tenant.id
  else if (caller.kind === 'browser') request.tenantId = caller.key.tenant.id
  const { session_id: inPath = '' } = request.params as { session_id?: string }
  // What stands in the body has passed the schema.
  const { session_id: inBody } = (request.body ?? {}) as { session_id?: SessionId }
  request.sessionId = parseId('sess', inPath) ?? inBody
}

/** Notes what the answer tells: a phone's request says nothing of the tenant, and create none of the session. */
export function noteAnswered(request: FastifyRequest, view: object): void {
  const { id, tenant_id } = view as { id?: SessionId; tenant_id?: TenantId }
  request.sessionId ??= id
  request.tenantId ??= tenant_id
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the request was refused. */
    refusal?: Refusal
    tenantId?: TenantId | undefined
    sessionId?: SessionId | undefined
  }
  interface FastifyContextConfig {
    routeName?: RouteName
  }
}
