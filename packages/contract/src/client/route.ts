/**
 * How a client repeats a request whose response was lost, or that the service rejected with 429 or
 * 5xx.
 *
 * - `repeat`: send the same request again. The service responds as it did the first time.
 * - `rebuild`: make a new request for each attempt, with a new challenge or a new counter. The
 *   service may have counted the lost one. One that it turned away (408, 429, `overloaded`) may be
 *   sent again as it is, except for evidence with a passport, which waits once it is counted.
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
