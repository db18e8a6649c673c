import { REASONS, type Reason } from './errors.ts'

/**
 * The HTTP status of a reason: that of its code, except for five with a specific status.
 *
 * @example statusOf('session_not_found') // 404
 */
export function statusOf(reason: Reason): number {
  switch (reason) {
    case 'unknown_endpoint':
      return 404
    case 'method_not_allowed':
      return 405
    case 'inbox_paused':
      return 409
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
