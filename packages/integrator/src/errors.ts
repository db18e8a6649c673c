/** What to do about each error of this package. */
export const GATE_REMEDIES = {
  service_unavailable:
    'Retry later. If it persists, check baseUrl, the network, and the status of the service.',
  rate_limited: 'Retry after `retryAfterMs`. Limit how many sessions one visitor can create.',
  unauthorized: 'Set serverCredential to a credential of this service that is not revoked.',
  forbidden:
    'Enable the workflow and action for this credential, or let the operator resume the tenant.',
  invalid_request: 'Change the call: the message and `reason` name what is wrong.',
  not_found: 'Create a new session: this one was deleted, or belongs to another tenant.',
  unexpected_answer: 'Set baseUrl to the service itself: something else answered.',
  invalid_configuration: 'Change the option that the message names. No call was made.',
  session_unknown: 'Use the store and the session id of the create: no row has this id.',
  action_not_committed:
    'Let an action pass the errors of its database on, and call complete after its commit.',
  verdict_invalid: 'Pass `use` the object that `verify` of the same gate returned.',
} as const

/** One of the codes of a {@link GateError}. {@link GATE_REMEDIES} says what to do about each. */
export type GateErrorCode = keyof typeof GATE_REMEDIES

/** The codes of the errors of this package. */
export const GATE_ERROR_CODES = Object.keys(GATE_REMEDIES) as readonly GateErrorCode[]

interface GateErrorDetails {
  readonly reason?: string | undefined
  readonly param?: string | undefined
  readonly docUrl?: string | undefined
  readonly requestId?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly reportedAt?: string | undefined
  readonly address?: string | undefined
  readonly cause?: unknown
}

/**
 * The one error this package throws: `message` says what happened, and `remedy` what to do. Branch
 * on `code`, never on the texts.
 *
 * @example new GateError('rate_limited', 'Too many requests.').retryable // true
 */
export class GateError extends Error {
  override readonly name = 'GateError'
  readonly code: GateErrorCode
  /** What you can do. For your log: it is not written for the user of the form. */
  readonly remedy: string
  /** The reason of the service's rejection, if it has one. */
  readonly reason: string | undefined
  /** The member that the service rejected, such as `context.display.0.value`. */
  readonly param: string | undefined
  /** The service's page about the reason. */
  readonly docUrl: string | undefined
  /** The request id, by which the operator finds this call. */
  readonly requestId: string | undefined
  /** The wait that the service requested, in milliseconds. */
  readonly retryAfterMs: number | undefined
  /**
   * Of a completion: the session has expired after its bond. The service keeps the report of this
   * time, and the phone shows it.
   */
  readonly reportedAt: string | undefined
  /** The address of the call that failed. */
  readonly address: string | undefined

  constructor(code: GateErrorCode, message: string, details: GateErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause })
    this.code = code
    this.remedy = GATE_REMEDIES[code]
    this.reason = details.reason
    this.param = details.param
    this.docUrl = details.docUrl
    this.requestId = details.requestId
    this.retryAfterMs = details.retryAfterMs
    this.reportedAt = details.reportedAt
    this.address = details.address
  }

  /** Whether the same call can succeed later without a change by the caller or the operator. */
  get retryable(): boolean {
    return this.code === 'service_unavailable' || this.code === 'rate_limited'
  }
}
