import { type BrowserFrame, OPEN_BROWSER_FRAME, PROVE_BROWSER, type Route } from '@bonded/contract'
import type { Start } from './parent-message.ts'

/** The service may be busy for a moment; longer than this, the user should know. */
const TIMEOUT_MS = 15_000
const TOO_MANY_REQUESTS = 429
const SERVER_ERROR = 500

/** The result of a call. `offline`: it may have been performed, and can be repeated. */
export type ServiceResult<T> =
  | { readonly kind: 'accepted'; readonly value: T }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'offline' }

/** The service, as the frame calls it. */
export interface FrameService {
  open(start: Start): Promise<ServiceResult<BrowserFrame>>
  /** @param assertion the credential's `toJSON()` */
  prove(start: Start, assertion: unknown): Promise<ServiceResult<unknown>>
}

/** Calls the service at the frame's own origin. The session's values are only in headers. */
export function createFrameService(request: typeof fetch): FrameService {
  const call = async (route: Route, start: Start, body: object): Promise<ServiceResult<never>> => {
    try {
      const response = await request(route.path.replace('{session_id}', start.sessionId), {
        method: route.method,
        headers: {
          authorization: `Bearer ${start.publishableKey}`,
          'x-bond-watch': start.watchToken,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ ...body, parent_origin: start.parentOrigin }),
        credentials: 'omit',
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      if (response.status === TOO_MANY_REQUESTS || response.status >= SERVER_ERROR)
        return { kind: 'offline' }
      const value: unknown = await response.json()
      if (response.status === route.status) return { kind: 'accepted', value: value as never }
      const { error } = value as { readonly error?: { readonly reason?: unknown } }
      return { kind: 'rejected', reason: String(error?.reason) }
    } catch {
      return { kind: 'offline' }
    }
  }
  return {
    open: (start) => call(OPEN_BROWSER_FRAME, start, {}),
    prove: (start, assertion) =>
      call(PROVE_BROWSER, start, { commitment: start.commitment, assertion }),
  }
}
