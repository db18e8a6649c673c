import { DISPLAY_TEXT, DISTINCT_LABELS, type Reason, type RequestId } from '@bonded/contract'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Refusal } from '@bonded/core/domain/refusal'
import type { Service } from '@bonded/core/operations/service'
import { StoreError } from '@bonded/core/ports/store'
import { awaitsContinue } from './expectations.ts'
import { countFailure } from '../limits.ts'
import { Refused } from './refused.ts'
import { refusalToWire, statusOf } from './refusal-to-wire.ts'
import { alignResponse } from './response-timing.ts'

/**
 * Answers every failure in the error shape: rejections, fastify's own errors, and bugs. The service
 * logs bugs and answers them without details.
 */
export function answerFailures(
  app: FastifyInstance,
  { service, log }: { readonly service: Service; readonly log: Logger },
): void {
  app.setErrorHandler(async (failure: FastifyError, request, reply) => {
    const refusal = await countRejection(service, { refusal: refusalOf(failure), request, reply })
    if (refusal.reason === 'internal_error' || refusal.reason === 'store_unavailable')
      log.error({ err: failure, requestId: request.id }, 'request failed')
    const { status, headers, body } = refusalToWire(refusal, request.id as RequestId)
    request.refusal = refusal
    await alignResponse(refusal.reason, performance.now() - reply.elapsedTime)
    if (mustClose(request, refusal)) reply.header('connection', 'close')
    else reply.removeHeader('connection')
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
 * Beyond the limit, the service answers 429.
 */
async function countRejection(
  service: Service,
  given: { refusal: Refusal; request: FastifyRequest; reply: FastifyReply },
): Promise<Refusal> {
  const { refusal, request, reply } = given
  const { caller } = request
  const call = { service, request, caller }
  if (refusal.reason === 'session_not_found') {
    await countFailure('not_found', call, reply)
    return refusal
  }
  const isSecret = caller?.kind === 'backend' || caller?.kind === 'phone'
  const status = statusOf(refusal.reason)
  if (isSecret || status === 429 || status >= 500) return refusal
  return (await countFailure('rejected', call, reply)) ?? refusal
}

/** How much of a rejected body the service reads and drops so that its client gets the answer. */
const MAX_DISCARDED_BYTES = 256 * 1024

/**
 * Whether the service closes the connection after the answer. An unfinished request may continue if
 * its declared length is small: closing at once would reset the connection, and its client could
 * lose the answer.
 */
function mustClose({ raw }: FastifyRequest, { reason }: Refusal): boolean {
  if (raw.complete) return reason === 'rate_limited' && raw.headers.authorization === undefined
  // Without `100 Continue` the client may or may not send the body, so what follows is ambiguous.
  if (reason === 'rate_limited' || awaitsContinue(raw)) return true
  return !(Number(raw.headers['content-length']) <= MAX_DISCARDED_BYTES)
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
    readonly format?: string
    /** The discriminator member, if the body's value for it names no known kind. */
    readonly tag?: string
  }
}

/** What is wrong with a member, by the format or keyword that rejects it. */
const DETAILS: Readonly<Record<string, string | undefined>> = {
  [DISPLAY_TEXT]:
    'A text has a visible character, single spaces, and no hidden, blank or unassigned character.',
  [DISTINCT_LABELS]: 'Two labels look alike.',
}

function refusalOfValidation({ validation, validationContext }: FastifyError): Refusal {
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
