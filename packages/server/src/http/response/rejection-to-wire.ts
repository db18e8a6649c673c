import { docUrlOf, type ErrorResponse, REASONS, type RequestId, statusOf } from '@bonded/contract'
import type { Rejection } from '@bonded/core/domain/rejection'

/** A rejection as an HTTP response. */
export interface WireRejection {
  readonly status: number
  readonly body: ErrorResponse
  readonly headers: Readonly<Record<string, string>>
}

/** The retry delay if the rejection has none of its own. */
const RETRY_AFTER_MS = 1_000

/**
 * Converts a rejection to an HTTP response. Only this function decides which members of a rejection
 * are public: the step never leaves the service.
 */
export function rejectionToWire(rejection: Rejection, requestId: RequestId): WireRejection {
  const { code, message } = REASONS[rejection.reason]
  const status = statusOf(rejection.reason)
  return {
    status,
    headers: headersOf(status, rejection),
    body: {
      error: {
        code,
        message: rejection.detail === undefined ? message : `${message} ${rejection.detail}`,
        requestId,
        reason: rejection.reason,
        doc_url: docUrlOf(rejection.reason),
        ...(rejection.param === undefined ? {} : { param: rejection.param }),
        ...(rejection.unready === undefined ? {} : { unready: [...rejection.unready] }),
        ...(rejection.reportedAt === undefined
          ? {}
          : { reported_at: new Date(rejection.reportedAt).toISOString() }),
        ...(rejection.serverTime === undefined
          ? {}
          : { server_time: new Date(rejection.serverTime).toISOString() }),
      },
    },
  }
}

/** The statuses whose responses say when to try again. */
export const WITH_RETRY_AFTER: readonly number[] = [409, 429, 503]

function headersOf(
  status: number,
  { retryAfterMs = RETRY_AFTER_MS }: Rejection,
): Record<string, string> {
  if (status === 401) return { 'www-authenticate': 'Bearer' }
  if (WITH_RETRY_AFTER.includes(status))
    return { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) }
  return {}
}
