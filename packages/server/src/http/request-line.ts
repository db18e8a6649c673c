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
import type { Rejection } from '@bonded/core/domain/rejection'
import type { Caller } from '@bonded/core/operations/service'
import type { Random } from '@bonded/core/ports/keyring'
import type { Meter, RouteName } from '@bonded/core/ports/meter'
import type { Tracer, TraceParent } from '@bonded/core/ports/tracer'

/**
 * The log line of a request. It contains only ids, words of closed lists and numbers, so it cannot
 * contain a secret, a nonce, a query or a raw path.
 */
export interface RequestLine {
  readonly requestId: RequestId
  /** The trace id of the caller's `traceparent`, which links its traces to this line. */
  readonly traceId?: string | undefined
  /** Read only if traces are enabled, for the span of the caller's `traceparent`. */
  readonly headers?: IncomingHttpHeaders | undefined
  readonly method: string | undefined
  /** The route's template, never the path. */
  readonly route: string
  readonly status: number
  readonly rejection?: Rejection | undefined
  readonly ms: number
  /** Who called; absent without a valid credential. */
  readonly caller?: Caller['kind'] | undefined
  readonly tenantId?: TenantId | undefined
  readonly sessionId?: SessionId | undefined
}

/** Logs and counts a request, once, at whatever layer the response is sent. */
export type LogRequest = (line: RequestLine, name: RouteName) => void

export function requestLogger(
  log: Logger,
  { meter, tracer }: { readonly meter: Meter; readonly tracer?: Tracer | undefined },
): LogRequest {
  return (request, name) => {
    const { ms, rejection, caller, tenantId, sessionId } = request
    const reason = rejection?.reason
    // An explicit list is faster than a spread at every request. JSON omits undefined members.
    const line = {
      requestId: request.requestId,
      traceId: request.traceId,
      method: request.method,
      route: request.route,
      status: request.status,
      caller,
      tenantId,
      sessionId,
      ms: Math.round(ms * 10) / 10,
      reason,
      step: rejection?.step,
    }
    log.info(line, 'request')
    meter.responded({ route: name, ms, reason })
    const parent = () => (line.traceId === undefined ? undefined : traceParentOf(request.headers))
    tracer?.responded({ ...line, name, ms, parent: parent() })
  }
}

/**
 * Returns the caller's request id if it has the form of protocol 2, else a new one. An id of any
 * other form is ignored, because it would let a caller write arbitrary text into the log.
 */
export function requestIdOf(headers: IncomingHttpHeaders, random: Random): RequestId {
  const given = headers['x-request-id']
  return (
    (typeof given === 'string' ? parseId('req', given) : undefined) ?? makeId('req', random.id())
  )
}

/** W3C Trace Context: version, trace id, parent id, flags. Later versions may append fields. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined
}

function traceParentOf(headers: IncomingHttpHeaders | undefined): TraceParent | undefined {
  const [, traceId = '', spanId = '', flags = ''] =
    TRACEPARENT.exec(String(headers?.traceparent)) ?? []
  if (traceId === '') return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Logs every request that fastify responds to. */
export function logRequests(app: FastifyInstance, logRequest: LogRequest): void {
  app.decorateRequest('rejection', undefined)
  app.decorateRequest('tenantId', undefined)
  app.decorateRequest('sessionId', undefined)
  app.addHook('onResponse', (request, reply, done) => {
    const { url, config } = request.routeOptions
    const line: RequestLine = {
      requestId: request.id as RequestId,
      traceId: traceIdOf(request.headers),
      headers: request.headers,
      method: request.method,
      route: url ?? 'unmatched',
      status: reply.statusCode,
      rejection: request.rejection,
      ms: reply.elapsedTime,
      caller: request.caller?.kind,
      tenantId: request.tenantId,
      sessionId: request.sessionId,
    }
    logRequest(line, nameOf(config.routeName, request))
    done()
  })
}

/** A poll that waits is slow by design. Counted apart, it does not hide a slow read. */
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

/** Returns the name of an endpoint in the endpoint table. */
export function endpointName(endpoint: Endpoint): EndpointName | undefined {
  return NAMES.get(endpoint)
}

/** Records the tenant and the session of a request, as far as the request names them. */
export function noteCaller(request: FastifyRequest, caller: Caller): void {
  if (caller.kind === 'backend' || caller.kind === 'portal')
    request.tenantId = caller.credential.tenant.id
  else if (caller.kind === 'browser') request.tenantId = caller.key.tenant.id
  const { session_id: inPath = '' } = request.params as { session_id?: string }
  // The body has passed schema validation.
  const { session_id: inBody } = (request.body ?? {}) as { session_id?: SessionId }
  request.sessionId = parseId('sess', inPath) ?? inBody
}

/**
 * Records the tenant and the session from the response. A phone's request does not name the tenant,
 * and a create does not name the session.
 */
export function noteView(request: FastifyRequest, view: object): void {
  const { id, tenant_id } = view as { id?: SessionId; tenant_id?: TenantId }
  request.sessionId ??= id
  request.tenantId ??= tenant_id
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the service rejected the request. */
    rejection?: Rejection
    tenantId?: TenantId | undefined
    sessionId?: SessionId | undefined
  }
  interface FastifyContextConfig {
    routeName?: RouteName
  }
}
