/**
 * How a client repeats a request whose response was lost, or that the service rejected with 429 or
 * 5xx.
 *
 * - `repeat`: send the same request again. The service responds as it did the first time.
 * - `rebuild`: make a new request for each attempt, with a new challenge or a new counter. The
 *   service may have counted the lost one.
 * - `reread`: send the same request again. When the service rejects the repetition, read the
 *   session: the lost request may have changed its state.
 */
export type RetryRule = 'repeat' | 'rebuild' | 'reread'

/**
 * The part of an endpoint that a client needs to call it. It is small, so that a page can load it.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Relative to the origin. `{name}` is a path parameter. */
  readonly path: string
  /** The status of a success. */
  readonly status: 200 | 201 | 204
  readonly retry: RetryRule
}

/** The path of the API under the origin of the service. */
export const API_PATH = '/api/v1'

// One constant for each route: a bundler then keeps only those that a page uses.

/** Safe to repeat with the same `Idempotency-Key`. */
export const CREATE_SESSION = {
  method: 'POST',
  path: '/api/v1/sessions',
  status: 201,
  retry: 'repeat',
} as const satisfies Route

export const GET_SESSION = {
  method: 'GET',
  path: '/api/v1/sessions/{session_id}',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

/** What a phone that has no key yet may know of a session before it makes one. */
export const READ_INVITATION = {
  method: 'GET',
  path: '/api/v1/sessions/{session_id}/invitation',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

export const DELETE_SESSION = {
  method: 'DELETE',
  path: '/api/v1/sessions/{session_id}',
  status: 204,
  retry: 'reread',
} as const satisfies Route

/** Responds with the session as it is: a phone may have been faster. */
export const CANCEL_SESSION = {
  method: 'POST',
  path: '/api/v1/sessions/{session_id}/cancel',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

/** The same proof again is answered with the session. */
export const PROVE_BROWSER = {
  method: 'POST',
  path: '/api/v1/sessions/{session_id}/browser',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

/** POST, because a browser sends no Origin with a GET to its own origin. It changes nothing. */
export const OPEN_BROWSER_FRAME = {
  method: 'POST',
  path: '/api/v1/sessions/{session_id}/browser/frame',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

export const COMPLETE_SESSION = {
  method: 'POST',
  path: '/api/v1/sessions/{session_id}/form-completed',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

/** The service makes the receipt if it is not yet made, and returns the same one from then on. */
export const READ_RECEIPT = {
  method: 'GET',
  path: '/api/v1/sessions/{session_id}/receipt',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

export const READ_TIMELINE = {
  method: 'GET',
  path: '/api/v1/sessions/{session_id}/timeline',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

/** A repetition adds a line to the timeline. */
export const REPORT_CONTAINMENT = {
  method: 'POST',
  path: '/api/v1/sessions/{session_id}/containment',
  status: 204,
  retry: 'repeat',
} as const satisfies Route

export const CHECK_PUBLISHABLE_KEY = {
  method: 'GET',
  path: '/api/v1/publishable-key',
  status: 204,
  retry: 'repeat',
} as const satisfies Route

export const CLAIM_SESSION = {
  method: 'POST',
  path: '/api/v1/sessions/{session_id}/claim',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

export const DECLINE_SESSION = {
  method: 'POST',
  path: '/api/v1/sessions/{session_id}/decline',
  status: 200,
  retry: 'reread',
} as const satisfies Route

/** The signature covers a counter, which the service accepts once. */
export const FETCH_EVIDENCE = {
  method: 'POST',
  path: '/api/v1/evidence',
  status: 200,
  retry: 'rebuild',
} as const satisfies Route

/** The service responds to an accepted assertion again. It rejects one that led to a step-up. */
export const ATTEST = {
  method: 'POST',
  path: '/api/v1/attestations',
  status: 200,
  retry: 'reread',
} as const satisfies Route

export const CHALLENGE_DEVICE = {
  method: 'POST',
  path: '/api/v1/devices/challenges',
  status: 201,
  retry: 'repeat',
} as const satisfies Route

/** A challenge is valid for one registration. */
export const REGISTER_DEVICE = {
  method: 'POST',
  path: '/api/v1/devices',
  status: 201,
  retry: 'rebuild',
} as const satisfies Route

/** A challenge is valid for one recovery. */
export const RECOVER_DEVICE = {
  method: 'POST',
  path: '/api/v1/devices/recovery',
  status: 201,
  retry: 'rebuild',
} as const satisfies Route

export const LIST_KEYS = {
  method: 'GET',
  path: '/api/v1/devices',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

export const GET_DEVICE = {
  method: 'GET',
  path: '/api/v1/devices/{device_id}',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

export const ROTATE_DEVICE_TOKEN = {
  method: 'POST',
  path: '/api/v1/devices/{device_id}/token',
  status: 201,
  retry: 'rebuild',
} as const satisfies Route

export const REMOVE_DEVICE = {
  method: 'POST',
  path: '/api/v1/devices/{device_id}/removal',
  status: 204,
  retry: 'rebuild',
} as const satisfies Route

export const READ_OPENAPI = {
  method: 'GET',
  path: '/api/v1/openapi.json',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

export const ALIVE = {
  method: 'GET',
  path: '/health/alive',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

export const READY = {
  method: 'GET',
  path: '/health/ready',
  status: 200,
  retry: 'repeat',
} as const satisfies Route

export const VERSION = {
  method: 'GET',
  path: '/version',
  status: 200,
  retry: 'repeat',
} as const satisfies Route
