/** Why a carrier check has no result. A closed list: text from a carrier is never passed on. */
export type UnknownReason =
  | 'no_operator'
  | 'operator_token_missing'
  | 'circuit_open'
  | 'timeout'
  | 'unreachable'
  | 'server_error'
  | 'rate_limited'
  | 'malformed_answer'
  | 'client_refused'
  | 'token_refused'
  | 'unauthenticated'
  | 'permission_denied'
  | 'invalid_argument'
  | 'out_of_range'
  | 'identifier_not_found'
  | 'not_applicable'
  | 'not_monitored'
  | 'stale_status'
  | 'failed'

/** The result of one carrier check, or the reason for its absence. */
export type CarrierResponse<T> = { readonly known: true; readonly value: T } | Unknown
export interface Unknown {
  readonly known: false
  readonly reason: UnknownReason
  /** The carrier's `Retry-After`. */
  readonly retryAfterMs?: number
}

export function learned<T>(value: T): CarrierResponse<T> {
  return { known: true, value }
}

export function unknown(reason: UnknownReason): Unknown {
  return { known: false, reason }
}
