import { type ErrorResponse, REASONS, type Reason, type RequestId } from '@bonded/contract'
import type { Refusal } from '@bonded/core/domain/refusal'

/** A refusal as an HTTP response. */
export interface WireRefusal {
  readonly status: number
  readonly body: ErrorResponse
  readonly headers: Readonly<Record<string, string>>
}

/** The retry delay if the refusal has none of its own. */
const RETRY_AFTER_MS = 1_000

/**
 * Converts a refusal to an HTTP response. Only this function decides which members of a refusal are
 * public: the step never leaves the service.
 */
export function refusalToWire(refusal: Refusal, requestId: RequestId): WireRefusal {
  const { code, message } = REASONS[refusal.reason]
  const status = statusOf(refusal.reason)
  return {
    status,
    headers: headersOf(status, refusal),
    body: {
      error: {
        code,
        message: refusal.detail === undefined ? message : `${message} ${refusal.detail}`,
        requestId,
        reason: refusal.reason,
        ...(refusal.param === undefined ? {} : { param: refusal.param }),
        ...(refusal.unready === undefined ? {} : { unready: [...refusal.unready] }),
        ...(refusal.serverTime === undefined
          ? {}
          : { server_time: new Date(refusal.serverTime).toISOString() }),
      },
    },
  }
}

/**
 * Returns the HTTP status of a reason: that of its code, except for four with a specific status.
 */
export function statusOf(reason: Reason): number {
  switch (reason) {
    case 'unknown_endpoint':
      return 404
    case 'method_not_allowed':
      return 405
    case 'body_too_large':
      return 413
    case 'unsupported_media_type':
      return 415
    default:
      return STATUS_BY_CODE[REASONS[reason].code]
  }
}

const STATUS_BY_CODE = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  rate_limited: 429,
  internal_error: 500,
  unavailable: 503,
} as const

function headersOf(
  status: number,
  { retryAfterMs = RETRY_AFTER_MS }: Refusal,
): Record<string, string> {
  if (status === 401) return { 'www-authenticate': 'Bearer' }
  if (status === 429 || status === 503)
    return { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) }
  return {}
}
