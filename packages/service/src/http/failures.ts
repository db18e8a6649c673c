import type { Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { makeId, type Reason, type RequestId } from '@bonded/contract'
import type { FastifyError, FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Refusal } from '../domain/refusal.ts'
import type { Random } from '../ports/keyring.ts'
import { StoreError } from '../ports/store.ts'
import { rejectOnSocket } from './raw-response.ts'
import { Refused } from './refused.ts'
import type { TellRequest } from './request-line.ts'
import { refusalToWire } from './refusal-to-wire.ts'
import { alignResponse } from './response-timing.ts'

/** Makes every failure one of ours: refusals, fastify's own errors, and bugs, which are logged and told as nothing. */
export function answerFailures(app: FastifyInstance, log: Logger): void {
  app.setErrorHandler((failure: FastifyError, request, reply) => {
    const refusal = refusalOf(failure)
    if (refusal.reason === 'internal_error' || refusal.reason === 'store_unavailable')
      log.error({ err: failure, requestId: request.id }, 'request failed')
    const { status, headers, body } = refusalToWire(refusal, request.id as RequestId)
    request.refusal = refusal
    const send = () =>
      reply
        .code(status)
        .headers(headers)
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(body))
    return (
      alignResponse(refusal.reason, performance.now() - reply.elapsedTime)?.then(send) ?? send()
    )
  })
}

function refusalOf(failure: FastifyError): Refusal {
  if (failure instanceof Refused) return failure.refusal
  if (failure instanceof StoreError) return { reason: 'store_unavailable' }
  if (failure.validation) return refusalOfValidation(failure)
  switch (failure.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return { reason: 'body_too_large' }
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_CONTENT_TYPE':
      return { reason: 'unsupported_media_type' }
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return { reason: 'malformed_request' }
    default:
      return { reason: 'internal_error' }
  }
}

interface Violation {
  readonly keyword: string
  readonly instancePath: string
  readonly params: {
    readonly missingProperty?: string
    readonly additionalProperty?: string
    /** The member that names the kind of a body, where it names none. */
    readonly tag?: string
  }
}

function refusalOfValidation({ validation, validationContext }: FastifyError): Refusal {
  const [violation] = (validation ?? []) as unknown as Violation[]
  const at = violation?.instancePath.slice(1).replaceAll('/', '.') ?? ''
  const named =
    violation?.params.missingProperty ??
    violation?.params.additionalProperty ??
    violation?.params.tag
  const path = named === undefined ? at : at === '' ? named : `${at}.${named}`
  const param = path === '' ? {} : { param: path.slice(0, 128) }
  switch (validationContext) {
    case 'querystring':
      // The parser makes a list of a parameter that came twice.
      return {
        reason: violation?.keyword === 'type' ? 'duplicate_parameter' : 'invalid_parameter',
        ...param,
      }
    case 'headers':
      return { reason: 'invalid_header', ...param }
    default:
      return { reason: bodyReason(violation?.keyword), ...param }
  }
}

function bodyReason(keyword: string | undefined): Reason {
  if (keyword === 'required') return 'missing_member'
  return keyword === 'additionalProperties' ? 'unknown_member' : 'invalid_member'
}

/**
 * Answers what Node itself would answer, often with an empty body: in our shape, on the bare socket. A request
 * that has its answer already, and then breaks in its body, gets no second one.
 */
export function answerBrokenRequests(
  server: Server,
  means: { random: Random; tell: TellRequest },
): void {
  const answers = new WeakMap<Duplex, ServerResponse>()
  server.on('request', (request, response) => answers.set(request.socket, response))
  server.on('clientError', (failure: NodeJS.ErrnoException, socket) => {
    const latest = answers.get(socket)
    const answered = latest !== undefined && !latest.req.complete && latest.headersSent
    if (answered || !socket.writable) return void socket.destroy()
    answerBare(means, socket, brokenReason(failure.code))
  })
  server.on('connect', (_request, socket) => answerBare(means, socket, 'malformed_request'))
}

function answerBare(
  { random, tell }: { random: Random; tell: TellRequest },
  socket: Duplex,
  reason: Reason,
): void {
  const requestId = makeId('req', random.id())
  const status = rejectOnSocket(socket, { refusal: { reason }, requestId })
  tell(
    { requestId, method: undefined, route: 'broken', status, refusal: { reason }, ms: 0 },
    'broken',
  )
}

function brokenReason(code: string | undefined): Reason {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large'
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    default:
      return 'malformed_request'
  }
}
