/** What a phone's code branches on. */
export const PHONE_ERROR_CODES = [
  /** The text or picture holds no session. Scan again. */
  'handoff_unreadable',
  /** The session lives on an origin that this phone must not talk to, or the service speaks for another one. */
  'origin_not_usable',
  /** No answer came, after retries. Whether the request was done is not known. */
  'unreachable',
  /** The answer is not of the contract. */
  'answer_unreadable',
  /** The service said no: `reason` and `status` tell which no. */
  'refused',
  /** The session waits for nothing that a phone could answer. */
  'not_awaiting',
  /** A step-up asks for a kind of proof that this phone does not know or cannot give. Nothing was signed. */
  'step_up_unsupported',
  /** The key has signed as often as its counter can count. Register a new key. */
  'counter_exhausted',
  /**
   * The authenticator did not sign: the user canceled, the prompt timed out, verification failed, or the key is gone.
   * Browsers do not reveal which. Offer to try again.
   */
  'user_verification_failed',
  /** The phone has no authenticator that can hold this key. */
  'authenticator_unusable',
  /** The caller's signal was aborted. */
  'cancelled',
] as const
export type PhoneErrorCode = (typeof PHONE_ERROR_CODES)[number]

export interface PhoneErrorFacts {
  /** For `refused`: `error.reason` of the answer, or its `error.code` where it names none. For others: what was at fault. */
  readonly reason?: string
  /** HTTP status of the refusal. */
  readonly status?: number
  /** `error.requestId`: what the operator can look up. */
  readonly request_id?: string
  /** With `issued_at_out_of_range`: the time to sign by. */
  readonly server_time?: string
  /** How long the service asks to wait, milliseconds. */
  readonly retry_after_ms?: number
  readonly cause?: unknown
}

/**
 * The one error of this package. Branch on `code`, then on `reason`; the message is for people.
 *
 * @example if (error instanceof PhoneError && error.reason === 'challenge_expired') scanAgain()
 */
export class PhoneError extends Error {
  override readonly name = 'PhoneError'
  readonly code: PhoneErrorCode
  readonly reason: string | undefined
  readonly status: number | undefined
  readonly request_id: string | undefined
  readonly server_time: string | undefined
  readonly retry_after_ms: number | undefined

  constructor(code: PhoneErrorCode, facts: PhoneErrorFacts = {}) {
    const { reason, status, cause } = facts
    super(
      `${code}${reason === undefined ? '' : `: ${reason}`}${status === undefined ? '' : ` (HTTP ${status})`}`,
      { cause },
    )
    this.code = code
    this.reason = reason
    this.status = status
    this.request_id = facts.request_id
    this.server_time = facts.server_time
    this.retry_after_ms = facts.retry_after_ms
  }
}

/** Whether this is the service's refusal with that reason. */
export function isRefusal(error: unknown, reason: string): boolean {
  return error instanceof PhoneError && error.code === 'refused' && error.reason === reason
}

/** Whether the outcome of the request is unknown: no answer, or the answer of a failing service. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof PhoneError)) return false
  return error.code === 'unreachable' || (error.code === 'refused' && (error.status ?? 0) >= 500)
}
