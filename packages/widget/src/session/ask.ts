import { isObject, readStanding, type SessionAddress, type Standing } from './read.ts'

/** An answer that takes longer, beyond the time asked to wait, is lost. */
const ANSWER_LIMIT_MS = 8_000

/** What GET said. `later`: nothing for now, ask again; not before the time that the service names, where it does. */
export type Answer =
  | {
      readonly kind: 'standing'
      readonly standing: Standing
      readonly view: Record<string, unknown>
    }
  | { readonly kind: 'gone' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'later'; readonly retryAfterMs?: number }

interface Question {
  readonly address: Pick<SessionAddress, 'id' | 'apiBaseUrl' | 'watchToken'>
  readonly publishableKey: string
  /** Wait for the next change after `seq`, at most so long. */
  readonly wait?: { readonly ms: number; readonly after: number } | undefined
  readonly signal?: AbortSignal | undefined
}

/** Asks the service where the session stands: the truth, as far as a browser may know it. */
export async function ask({ address, publishableKey, wait, signal }: Question): Promise<Answer> {
  const url = new URL(`/api/v1/sessions/${encodeURIComponent(address.id)}`, address.apiBaseUrl)
  if (wait) url.search = `wait_ms=${Math.round(wait.ms)}&after=${wait.after}`
  const limit = new AbortController()
  const stop = () => limit.abort()
  const timer = setTimeout(stop, ANSWER_LIMIT_MS + (wait?.ms ?? 0))
  signal?.addEventListener('abort', stop)
  try {
    const response = await fetch(url, {
      headers: { Authorization: `Bearer ${publishableKey}`, 'X-Bond-Watch': address.watchToken },
      cache: 'no-store',
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      signal: limit.signal,
    })
    if (response.ok) return understand(await response.json(), address.id)
    if (response.status === 404) return { kind: 'gone' }
    if (response.status === 429 || response.status >= 500)
      return { kind: 'later', retryAfterMs: retryAfterMs(response) }
    console.error(
      `Pulse: the service refused this page (${response.status}).`,
      await response.text(),
    )
    return { kind: 'refused' }
  } catch {
    return { kind: 'later' }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

function retryAfterMs({ headers }: Response): number {
  const seconds = headers.get('Retry-After') ?? ''
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1_000 : 0
}

function understand(view: unknown, id: string): Answer {
  const standing = readStanding(view, performance.now())
  return standing && isObject(view) && view['id'] === id
    ? { kind: 'standing', standing, view }
    : { kind: 'unreadable' }
}
