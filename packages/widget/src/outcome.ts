import type { PublicEndedReason, SessionState } from '@bonded/contract'

/**
 * Why the widget closed without an answer of the session.
 *
 * | reason | what happened |
 * |---|---|
 * | `container_hidden` | the container is missing, or breaks the container contract |
 * | `network` | the service, or the customer's endpoint, could not be reached for too long |
 * | `service_refused` | the service refused this page: key, origin or watch token |
 * | `session_not_found` | the service does not know the session |
 * | `session_endpoint_failed` | the customer's endpoint did not answer with a public session |
 * | `session_mismatch` | the endpoint answered with a session of another workflow or action |
 * | `completion_secret_exposed` | the endpoint handed the browser the completion secret |
 * | `unknown_answer` | the service said something this version does not know: it fails closed |
 * | `superseded` | the page asked for another bond meanwhile |
 * | `internal_error` | the widget itself failed; the console says how |
 */
export type UnavailableReason =
  | 'container_hidden'
  | 'network'
  | 'service_refused'
  | 'session_not_found'
  | 'session_endpoint_failed'
  | 'session_mismatch'
  | 'completion_secret_exposed'
  | 'unknown_answer'
  | 'superseded'
  | 'internal_error'

/**
 * What `requireBond` resolves to. Take it as bonded only when `state` is `bonded` and `sessionId` is set;
 * then let your backend verify the session before it accepts the action: a page is not the judge of a bond.
 */
export type BondOutcome =
  | { readonly state: 'bonded'; readonly sessionId: string; readonly reason?: undefined }
  | {
      readonly state: Exclude<SessionState, 'bonded'>
      readonly sessionId: null
      readonly reason?: PublicEndedReason
    }
  | { readonly state: 'unavailable'; readonly sessionId: null; readonly reason: UnavailableReason }

/** The outcome of a bond that could not be watched to its end. */
export function unavailable(reason: UnavailableReason): BondOutcome {
  return { state: 'unavailable', sessionId: null, reason }
}
