/** The codes of the errors of this package. */
export const GATE_ERROR_CODES = [
  'service_unavailable',
  'rate_limited',
  'unauthorized',
  'forbidden',
  'invalid_request',
  'not_found',
  'unexpected_answer',
  'invalid_configuration',
  'session_unknown',
  'action_not_committed',
  'verdict_invalid',
] as const

/**
 * One of the codes of a {@link GateError}.
 *
 * | code | what to do |
 * |---|---|
 * | `service_unavailable` | no usable response after all attempts: retry later |
 * | `rate_limited` | wait `retryAfterMs` |
 * | `unauthorized`, `forbidden` | the server credential is wrong, or not enabled for this workflow and action |
 * | `invalid_request` | the call is wrong; see `reason` |
 * | `not_found` | the session was purged after its end, or belongs to another tenant |
 * | `unexpected_answer` | the response is not one of the service: check `baseUrl` |
 * | `invalid_configuration` | an option of `createGate` is wrong; thrown before any call |
 * | `session_unknown` | the pending store has no row for this session |
 * | `action_not_committed` | complete was called before the row was used |
 * | `verdict_invalid` | `use` was given something that this gate's `verify` did not return |
 */
export type GateErrorCode = (typeof GATE_ERROR_CODES)[number]

interface GateErrorDetails {
  readonly reason?: string | undefined
  readonly requestId?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/**
 * The one error this package throws. Branch on `code`, never on the message.
 *
 * @example new GateError('rate_limited', 'Too many requests.', { retryAfterMs: 2000 }).retryable //
 * true
 */
export class GateError extends Error {
  override readonly name = 'GateError'
  readonly code: GateErrorCode
  /** The reason of the service's rejection, if it has one. */
  readonly reason: string | undefined
  /** The request id, by which the operator finds this call. */
  readonly requestId: string | undefined
  /** The wait that the service requested, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(code: GateErrorCode, message: string, details: GateErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause })
    this.code = code
    this.reason = details.reason
    this.requestId = details.requestId
    this.retryAfterMs = details.retryAfterMs
  }

  /** Whether the same call can succeed later without a change by the caller or the operator. */
  get retryable(): boolean {
    return this.code === 'service_unavailable' || this.code === 'rate_limited'
  }
}
