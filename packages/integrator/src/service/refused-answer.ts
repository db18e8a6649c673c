import { GateError, type GateErrorCode } from '../errors.ts'
import type { AnswerLike } from './fetch-like.ts'
import { parseRetryAfter } from './retry.ts'

/** The error for an answer that is not a success. The status decides, the body only explains: a proxy has no body of ours. */
export function refusedAnswer(answer: AnswerLike, text: string, nowMs: number): GateError {
  const told = readErrorBody(text)
  return new GateError(
    codeOf(answer.status, told),
    told.message ?? `The service answered ${answer.status}.`,
    {
      reason: told.reason,
      requestId: told.requestId ?? answer.headers.get('x-request-id') ?? undefined,
      retryAfterMs: parseRetryAfter(answer.headers.get('retry-after'), nowMs),
    },
  )
}

interface ToldError {
  readonly code?: string | undefined
  readonly message?: string | undefined
  readonly requestId?: string | undefined
  readonly reason?: string | undefined
}

function codeOf(status: number, told: ToldError): GateErrorCode {
  if (status >= 500) return 'service_unavailable'
  if (status === 429) return 'rate_limited'
  // Below, a body in the service's error shape is asked for: a wrong base URL also answers 404.
  if (told.code === undefined) return 'unexpected_answer'
  if (status === 401) return 'unauthorized'
  if (status === 403) return 'forbidden'
  if (status === 404 && told.code === 'not_found') return 'not_found'
  return status >= 400 ? 'invalid_request' : 'unexpected_answer'
}

function readErrorBody(text: string): ToldError {
  const body = parseObject(text)
  const error =
    typeof body?.error === 'object' && body.error !== null
      ? (body.error as Record<string, unknown>)
      : {}
  return {
    code: words(error.code),
    message: words(error.message),
    requestId: words(error.requestId),
    reason: words(error.reason),
  }
}

/** The object that a JSON text holds; undefined for anything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** A text short enough for a log line. */
function words(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= 512 ? value : undefined
}
