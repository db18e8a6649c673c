import type { PublicEndedReason, SessionState } from '@bonded/contract'

/**
 * Why the widget closed without a response of the session. These are for the developer of the page;
 * the user reads a sentence in the widget.
 *
 * | reason | what happened |
 * |---|---|
 * | `container_hidden` | the container is missing, or breaks the container contract |
 * | `canceled` | the user pressed Cancel before a session existed, or while the service was unreachable |
 * | `page_hidden` | the page was closed or left |
 * | `network` | the service, or your session endpoint, could not be reached for too long |
 * | `key_invalid` | the service does not know the publishable key, or it is revoked |
 * | `origin_not_allowed` | the origin of the page is not enabled for the publishable key |
 * | `key_of_another_tenant` | the session belongs to another tenant than the publishable key |
 * | `key_out_of_scope` | the key's scope lacks the workflow or the action of the session |
 * | `session_not_found` | the service does not know the session, or the watch token is wrong |
 * | `script_not_hosted` | pulse.js was not loaded from the service of the session |
 * | `service_refused` | the service rejected this page for another reason; see the console |
 * | `session_endpoint_failed` | your session endpoint did not return a public session |
 * | `session_mismatch` | the endpoint returned a session of another workflow or action |
 * | `completion_secret_exposed` | the endpoint sent the completion secret to the browser |
 * | `unknown_answer` | the service sent what this version does not know: it fails closed |
 * | `browser_unsupported` | the workflow requires the browser, and this one cannot give the proof |
 * | `browser_frame_blocked` | the service's frame, which asks for the proof, could not be shown |
 * | `confirmed_elsewhere` | the phone's request was confirmed in another browser |
 * | `browser_too_old` | the browser is older than those that the widget supports |
 * | `built_ins_replaced` | a script of the page has replaced the JSON of arrays, or iteration |
 * | `superseded` | the page requested another bond |
 * | `internal_error` | the widget itself failed; see the console |
 */
export type UnavailableReason =
  | 'container_hidden'
  | 'canceled'
  | 'page_hidden'
  | 'network'
  | 'key_invalid'
  | 'origin_not_allowed'
  | 'key_of_another_tenant'
  | 'key_out_of_scope'
  | 'session_not_found'
  | 'script_not_hosted'
  | 'service_refused'
  | 'session_endpoint_failed'
  | 'session_mismatch'
  | 'completion_secret_exposed'
  | 'unknown_answer'
  | 'browser_unsupported'
  | 'browser_frame_blocked'
  | 'confirmed_elsewhere'
  | 'browser_too_old'
  | 'built_ins_replaced'
  | 'superseded'
  | 'internal_error'

/**
 * What `requireBond` resolves to. Treat it as bonded only if `state` is `bonded` and `sessionId` is
 * set. Your backend must then verify the session before it accepts the action, because a page can
 * be manipulated.
 */
export type BondOutcome =
  | {
      readonly state: 'bonded'
      readonly sessionId: string
      readonly reason?: undefined
      /**
       * Only where the workflow requires the browser: send it to your backend with the form, and
       * nowhere else. The backend reads no verification without it.
       */
      readonly browserSecret?: string
    }
  | {
      readonly state: Exclude<SessionState, 'bonded'>
      readonly sessionId: null
      readonly reason?: PublicEndedReason
    }
  | {
      readonly state: 'unavailable'
      readonly sessionId: null
      readonly reason: UnavailableReason
      /**
       * With `network` and `browser_frame_blocked`: what the page's Content Security Policy lacks,
       * if it blocked the widget, such as `connect-src https://bond.example`.
       */
      readonly missingCsp?: string
    }

/** The outcome of a bond that the widget could not follow to its end. */
export function unavailable(reason: UnavailableReason): BondOutcome {
  return { state: 'unavailable', sessionId: null, reason }
}
