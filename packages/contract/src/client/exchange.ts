import type { Route } from './route.ts'
import { bare, type Members, ownMembers, parseMembers } from './own-members.ts'
import { parseRetryAfter } from './retry-after.ts'

/** The part of a `Response` that a client needs. */
export interface ResponseLike {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

/** The part of a request that every client sends. */
export interface RequestParts {
  readonly method: Route['method']
  readonly headers: Record<string, string>
  readonly body?: string
}

/** The result of one request. */
export type ExchangeResult =
  /** The status of the endpoint's success. `text` is the body, which 204 leaves empty. */
  | { readonly kind: 'accepted'; readonly text: string }
  /**
   * Any other status. One below 400 comes from a proxy, or from something else than the service.
   */
  | {
      readonly kind: 'rejected'
      readonly status: number
      /** The own members of `error`, as sent: none where a proxy responded. See {@link textOf}. */
      readonly error: Members
      /** The wait that the service asks for, in milliseconds. */
      readonly retryAfterMs: number | undefined
    }
  /** No response, or only a part of one. The service may have performed the request. */
  | { readonly kind: 'no_response'; readonly cause: unknown }

/** One request of a client. `Init` holds the members of its fetch that the others do not have. */
export interface Exchange<Init extends object> {
  readonly route: Route
  readonly url: string
  readonly fetch: (url: string, request: RequestParts & Init) => Promise<ResponseLike>
  /** The credential of the `Authorization` header. */
  readonly bearer?: string | undefined
  readonly headers?: Record<string, string>
  /** The body as text, made once, so that a repetition sends the same bytes. */
  readonly body?: string | undefined
  readonly init: Init
  /** The time of day in milliseconds since 1970, for a `Retry-After` that is a date. */
  readonly nowMs?: number
}

/**
 * Sends one request and classifies the response by the endpoint's own success status. Never throws.
 */
export async function exchange<Init extends object>(
  given: Exchange<Init>,
): Promise<ExchangeResult> {
  // In a page with a polluted `Object.prototype`, an omitted `body` must stay omitted.
  const request = bare(given)
  const { route, bearer, body } = request
  const headers: Record<string, string> = { accept: 'application/json', ...request.headers }
  if (bearer !== undefined) headers.authorization = `Bearer ${bearer}`
  if (body !== undefined) headers['content-type'] = 'application/json'
  const parts = { ...request.init, method: route.method, headers }
  try {
    const response = await request.fetch(
      request.url,
      bare(body === undefined ? parts : { ...parts, body }),
    )
    const text = await response.text()
    const { status } = response
    if (status === route.status) return { kind: 'accepted', text }
    return {
      kind: 'rejected',
      status,
      error: ownMembers(parseMembers(text)?.['error']) ?? {},
      retryAfterMs: parseRetryAfter(response.headers.get('retry-after'), request.nowMs),
    }
  } catch (cause) {
    return { kind: 'no_response', cause }
  }
}

/**
 * A text member of an error; undefined where it is missing or no short text. A longer text is not
 * one of the service's, and would fill a log.
 *
 * @example textOf(response.error, 'reason') // 'challenge_expired'
 */
export function textOf(error: Members, name: string): string | undefined {
  const value = error[name]
  return typeof value === 'string' && value.length <= 512 ? value : undefined
}
