import {
  type ExchangeResult,
  bare,
  CANCEL_SESSION,
  exchange,
  GET_SESSION,
  isRetryableStatus,
  type Members,
  parseMembers,
  type RequestParts,
  requestPath,
  type Route,
  WATCH_HEADER,
} from '@bonded/contract'
import type { UnavailableReason } from '../outcome.ts'
import { reportRejection } from './rejection.ts'
import { readSnapshot, type SessionAddress, type Snapshot } from './snapshot.ts'

/** A response that takes longer than this, beyond the requested wait, counts as lost. */
const RESPONSE_LIMIT_MS = 8_000

/** The result of reading the session. */
export type SessionResponse =
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot; readonly view: Members }
  /** The service does not show this session to this key. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'rejected'; readonly reason: UnavailableReason }
  | { readonly kind: 'unreadable' }
  /** No response for now: retry, but not before the time that the service names. */
  | { readonly kind: 'later'; readonly retryAfterMs: number }
  /** No response that this page may read: the network failed, or its origin is not allowed. */
  | { readonly kind: 'blocked' }

interface Question {
  readonly address: SessionAddress
  readonly publishableKey: string
  /** Wait up to `ms` for a change after `seq`. Null: respond at once. */
  readonly wait: { readonly ms: number; readonly after: number } | null
  readonly signal: AbortSignal | null
  readonly body?: string
}

/** Reads the session as the service shows it to a browser. */
export function getSession(question: Question): Promise<SessionResponse> {
  return ask(GET_SESSION, question)
}

/**
 * Cancels the session, unless a phone has answered, and returns it. The request outlives the page.
 */
export function cancelSession(
  subject: Pick<Question, 'address' | 'publishableKey'>,
): Promise<SessionResponse> {
  return ask(CANCEL_SESSION, { ...subject, wait: null, signal: null })
}

/** Sends a request about the session, to which the service responds with the session. */
export async function ask(route: Route, question: Question): Promise<SessionResponse> {
  const { address, publishableKey, wait, signal, ...body } = question
  const limit = new AbortController()
  const stop = () => limit.abort()
  const timer = setTimeout(stop, RESPONSE_LIMIT_MS + (wait?.ms ?? 0))
  signal?.addEventListener('abort', stop)
  try {
    const response = await send(route, {
      address,
      path: requestPath(
        route,
        { session_id: address.id },
        { wait_ms: wait ? Math.round(wait.ms) : undefined, after: wait?.after },
      ),
      publishableKey,
      headers: { [WATCH_HEADER]: address.watchToken },
      signal: limit.signal,
      ...body,
    })
    if (response.kind === 'accepted') return parseSession(response.text, address.id)
    if (response.kind === 'no_response')
      return limit.signal.aborted ? { kind: 'later', retryAfterMs: 0 } : { kind: 'blocked' }
    if (response.status === 404) return { kind: 'gone' }
    return isRetryableStatus(response.status)
      ? { kind: 'later', retryAfterMs: response.retryAfterMs ?? 0 }
      : { kind: 'rejected', reason: reportRejection(response) }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

interface Request {
  readonly address: SessionAddress
  readonly path: string
  readonly publishableKey: string
  readonly headers: Record<string, string>
  readonly body?: string
  readonly signal: AbortSignal | null
}

/** Sends one request with the page's key to the service of a session. */
export function send(route: Route, request: Request): Promise<ExchangeResult> {
  const { address, path, publishableKey, headers, body, signal } = bare(request)
  return exchange({
    route,
    url: new URL(path, address.apiBaseUrl).href,
    fetch: (url, init: RequestParts & RequestInit) => fetch(url, init),
    bearer: publishableKey,
    headers,
    body,
    init: withoutPageState({ signal, keepalive: route === CANCEL_SESSION }),
  })
}

/** Options of a request to the service: no cookies, no referrer, nothing stored. */
export function withoutPageState(init: RequestInit): RequestInit {
  return bare({
    ...init,
    cache: 'no-store',
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
  } satisfies RequestInit)
}

function parseSession(text: string, id: string): SessionResponse {
  const view = parseMembers(text)
  // Not an object of the service: the page of a proxy or of a captive portal.
  if (view === undefined) return { kind: 'blocked' }
  const snapshot = readSnapshot(view, performance.now())
  return snapshot && view['id'] === id
    ? { kind: 'snapshot', snapshot, view }
    : { kind: 'unreadable' }
}
