/** Why something was not learned of a carrier. Words of ours only: nothing that a carrier wrote gets further. */
export type Why =
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

/** What was learned, or why nothing was. */
export type Answer<T> = { readonly known: true; readonly value: T } | Unknown
export interface Unknown {
  readonly known: false
  readonly why: Why
  /** How long the carrier asked to be left alone. */
  readonly retryAfterMs?: number
}

export function learned<T>(value: T): Answer<T> {
  return { known: true, value }
}

export function unknown(why: Why): Unknown {
  return { known: false, why }
}
