import {
  DISPLAY_LINES,
  DISPLAY_TEXT,
  DISPLAY_VALUE,
  DISTINCT_LABELS,
  type Reason,
  type RequestId,
  statusOf,
} from '@bonded/contract'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Rejection } from '@bonded/core/domain/rejection'
import type { Service } from '@bonded/core/operations/service'
import { SignerError } from '@bonded/core/ports/signer'
import { StoreError } from '@bonded/core/ports/store'
import { awaitsContinue } from './expectations.ts'
import { countFailure } from '../limits.ts'
import { Rejected } from './rejected.ts'
import { rejectionToWire } from './rejection-to-wire.ts'
import { alignResponse } from './response-timing.ts'

/** The failures of the service itself, which the operator must see. */
const LOGGED: readonly Reason[] = ['internal_error', 'store_unavailable', 'signer_unavailable']

/**
 * Responds to every failure in the error shape: rejections, fastify's own errors, and bugs. The
 * service logs bugs and responds to them without details.
 */
export function respondToFailures(
  app: FastifyInstance,
  { service, log }: { readonly service: Service; readonly log: Logger },
): void {
  app.setErrorHandler(async (failure: FastifyError, request, reply) => {
    const rejection = countRejection(service, {
      rejection: rejectionOf(failure),
      request,
      reply,
    })
    if (LOGGED.includes(rejection.reason))
      log.error({ err: failure, requestId: request.id }, 'request failed')
    const { status, headers, body } = rejectionToWire(rejection, request.id as RequestId)
    request.rejection = rejection
    await alignResponse(rejection.reason, performance.now() - reply.elapsedTime)
    if (mustClose(request, rejection)) reply.header('connection', 'close')
    // Fastify closes after a body that is too large. While the service drains, Node announces that
    // it closes: a proxy that does not know it sends its next request into the closed connection.
    else if (reply.raw.shouldKeepAlive) reply.removeHeader('connection')
    return reply
      .code(status)
      .headers(headers)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(body))
  })
}

/**
 * Counts rejected requests without a valid credential for their network, and reads of sessions that
 * do not exist. Publishable keys are public, so a request with one counts like an anonymous one.
 * Beyond the limit, the service responds with 429.
 */
function countRejection(
  service: Service,
  failed: { rejection: Rejection; request: FastifyRequest; reply: FastifyReply },
): Rejection {
  const { rejection, request, reply } = failed
  const { caller } = request
  const call = { service, request, caller }
  if (rejection.reason === 'session_not_found') {
    countFailure('not_found', call, reply)
    return rejection
  }
  const isSecret = caller?.kind === 'backend' || caller?.kind === 'phone'
  const status = statusOf(rejection.reason)
  if (isSecret || status === 429 || status >= 500) return rejection
  return countFailure('rejected', call, reply) ?? rejection
}

/** How much of a rejected body the service reads and drops so that its client gets the response. */
const MAX_DISCARDED_BYTES = 256 * 1024

/**
 * Whether the service closes the connection after the response. An unfinished request may continue
 * if its declared length is small: closing at once would reset the connection, and its client could
 * lose the response.
 */
function mustClose({ raw }: FastifyRequest, { reason }: Rejection): boolean {
  if (raw.complete) return reason === 'rate_limited' && raw.headers.authorization === undefined
  // Without `100 Continue` the client may or may not send the body, so what follows is ambiguous.
  if (reason === 'rate_limited' || awaitsContinue(raw)) return true
  return !(Number(raw.headers['content-length']) <= MAX_DISCARDED_BYTES)
}

function rejectionOf(failure: FastifyError): Rejection {
  if (failure instanceof Rejected) return failure.rejection
  if (failure instanceof StoreError) return { reason: 'store_unavailable' }
  if (failure instanceof SignerError) return { reason: 'signer_unavailable' }
  if (failure.validation) return rejectionOfValidation(failure)
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
    readonly format?: string
    /** The discriminator member, if the body's value for it names no known kind. */
    readonly tag?: string
  }
}

const UNREADABLE =
  'A text has a visible character, single spaces, and no hidden, blank or unassigned character. ' +
  'U+200C and U+200D may be where RFC 5892 permits them, and variation selectors after their bases.'

/** What is wrong with a member, by the format or keyword that rejects it. */
const DETAILS: Readonly<Record<string, string | undefined>> = {
  [DISPLAY_TEXT]: UNREADABLE,
  [DISPLAY_VALUE]: `${UNREADABLE} Directional marks are for one amount, date or list.`,
  [DISPLAY_LINES]:
    'A text has at most 8,192 bytes and 200 lines, a visible character, and no hidden or unassigned one.',
  [DISTINCT_LABELS]: 'Two labels look alike.',
}

function rejectionOfValidation({ validation, validationContext }: FastifyError): Rejection {
  // Fastify's type leaves the parameters of a violation open. They are those of our schemas.
  const [violation] = (validation ?? []) as unknown as Violation[]
  const instancePath = violation?.instancePath.slice(1).replaceAll('/', '.') ?? ''
  const named =
    violation?.params.missingProperty ??
    violation?.params.additionalProperty ??
    violation?.params.tag
  const path =
    named === undefined ? instancePath : instancePath === '' ? named : `${instancePath}.${named}`
  const param = path === '' ? {} : { param: path.slice(0, 128) }
  const detail =
    violation === undefined ? undefined : DETAILS[violation.params.format ?? violation.keyword]
  switch (validationContext) {
    case 'querystring':
      // The parser turns a repeated parameter into a list, which fails the type check.
      return {
        reason: violation?.keyword === 'type' ? 'duplicate_parameter' : 'invalid_parameter',
        ...param,
      }
    case 'headers':
      return { reason: 'invalid_header', ...param }
    default:
      return {
        reason: bodyReason(violation?.keyword),
        ...param,
        ...(detail === undefined ? {} : { detail }),
      }
  }
}

function bodyReason(keyword: string | undefined): Reason {
  if (keyword === 'required') return 'missing_member'
  return keyword === 'additionalProperties' ? 'unknown_member' : 'invalid_member'
}
