/** The codes of the errors of this package. */
export const PHONE_ERROR_CODES = [
  /** The text or picture contains no session. Scan again. */
  'handoff_unreadable',
  /** The session belongs to an origin that this phone must not use, or not to this service. */
  'origin_not_usable',
  /** No response arrived after retries. The service may have performed the request. */
  'unreachable',
  /** The response does not match the contract. */
  'answer_unreadable',
  /** The service rejected the request: see `reason` and `status`. */
  'refused',
  /** The session does not wait for a phone. */
  'not_awaiting',
  /** A step-up requires a proof that this phone does not support. Nothing was signed. */
  'step_up_unsupported',
  /** The key's counter is exhausted. Register a new key. */
  'counter_exhausted',
  /**
   * The authenticator did not sign: the user canceled, the prompt timed out, verification failed,
   * or the key is gone. Browsers do not reveal which. Offer to try again.
   */
  'user_verification_failed',
  /** The phone has no authenticator that can hold this key. */
  'authenticator_unusable',
  /** The caller's signal was aborted. */
  'cancelled',
] as const
export type PhoneErrorCode = (typeof PHONE_ERROR_CODES)[number]

export interface PhoneErrorFacts {
  /** The cause. With `refused`: `error.reason` of the response, or its `error.code`. */
  readonly reason?: string
  /** The HTTP status of the rejection. */
  readonly status?: number
  /** `error.requestId`, by which the operator finds the request. */
  readonly request_id?: string
  /** The service's time, with `issued_at_out_of_range`. */
  readonly server_time?: string
  /** The wait that the service requests, in milliseconds. */
  readonly retry_after_ms?: number
  readonly cause?: unknown
}

/**
 * The one error of this package. Branch on `code`, then on `reason`; the message is for logs.
 *
 * @example if (error instanceof PhoneError && error.reason === 'challenge_expired') scanAgain()
 */
export class PhoneError extends Error {
  override readonly name = 'PhoneError'
  readonly code!: PhoneErrorCode
  readonly reason!: string | undefined
  readonly status!: number | undefined
  readonly request_id!: string | undefined
  readonly server_time!: string | undefined
  readonly retry_after_ms!: number | undefined

  constructor(code: PhoneErrorCode, { cause, ...facts }: PhoneErrorFacts = {}) {
    const { reason, status } = facts
    super([code, reason && `: ${reason}`, status && ` (HTTP ${status})`].join(''), { cause })
    Object.assign(this, { code }, facts)
  }
}

/** Whether an error is the service's rejection with this reason. */
export function isRejection(error: unknown, reason: string): boolean {
  return error instanceof PhoneError && error.code === 'refused' && error.reason === reason
}

/**
 * Whether the outcome of the request is unknown: no response, or the response of a failing service.
 */
export function isLost(error: unknown): boolean {
  if (!(error instanceof PhoneError)) return false
  return error.code === 'unreachable' || (error.code === 'refused' && (error.status ?? 0) >= 500)
}
