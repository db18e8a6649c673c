import type { UnavailableReason } from '../outcome.ts'
import { bare, type Members, ownMembers } from './members.ts'
import { readStanding, type SessionAddress, type Standing } from './read.ts'
import { reportRejection } from './rejection.ts'

/** An answer that takes longer than this, beyond the time asked to wait, is lost. */
const ANSWER_LIMIT_MS = 8_000

/** What GET answered. */
export type Answer =
  | { readonly kind: 'standing'; readonly standing: Standing; readonly view: Members }
  /** The service does not show this session to this key. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'rejected'; readonly reason: UnavailableReason }
  | { readonly kind: 'unreadable' }
  /** Nothing for now: ask again, but not before the time that the service names. */
  | { readonly kind: 'later'; readonly retryAfterMs: number }
  /** No answer that this page may read: the network failed, or the service does not allow its origin. */
  | { readonly kind: 'blocked' }

interface Question {
  readonly address: SessionAddress
  readonly publishableKey: string
  /** Wait for the next change after `seq`, at most so long. Null: answer at once. */
  readonly wait: { readonly ms: number; readonly after: number } | null
  readonly signal: AbortSignal | null
}

/** Asks the service for the session, as far as a browser may know it. */
export async function ask({ address, publishableKey, wait, signal }: Question): Promise<Answer> {
  const url = new URL(`/api/v1/sessions/${encodeURIComponent(address.id)}`, address.apiBaseUrl)
  if (wait) url.search = `wait_ms=${Math.round(wait.ms)}&after=${wait.after}`
  const limit = new AbortController()
  const stop = () => limit.abort()
  const timer = setTimeout(stop, ANSWER_LIMIT_MS + (wait?.ms ?? 0))
  signal?.addEventListener('abort', stop)
  try {
    const response = await fetch(
      url,
      fromNowhere({
        headers: { Authorization: `Bearer ${publishableKey}`, 'X-Bond-Watch': address.watchToken },
        signal: limit.signal,
      }),
    )
    if (response.ok) return understand(await response.json(), address.id)
    if (response.status === 404) return { kind: 'gone' }
    if (response.status === 429 || response.status >= 500)
      return { kind: 'later', retryAfterMs: retryAfterMs(response) }
    return { kind: 'rejected', reason: reportRejection(response.status, await response.text()) }
  } catch {
    return limit.signal.aborted ? { kind: 'later', retryAfterMs: 0 } : { kind: 'blocked' }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

/** Options of a request to the service: nothing of the page's goes along, and nothing is stored. */
export function fromNowhere(init: RequestInit): RequestInit {
  return bare({
    ...init,
    cache: 'no-store',
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
  } satisfies RequestInit)
}

function retryAfterMs({ headers }: Response): number {
  const seconds = headers.get('Retry-After') ?? ''
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1_000 : 0
}

function understand(answer: unknown, id: string): Answer {
  const view = ownMembers(answer)
  const standing = readStanding(view, performance.now())
  return standing && view?.['id'] === id
    ? { kind: 'standing', standing, view }
    : { kind: 'unreadable' }
}
