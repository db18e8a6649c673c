import type { FetchLike, RequestLike } from '@bonded/phone'

/** More than the sessions that one phone has open. The limit bounds the memory. */
const REMEMBERED = 64

/** A fetch that stores the last assertion of each session, as an eavesdropper would. */
export interface AssertionMemory {
  readonly fetch: FetchLike
  /** Sends the assertion again, byte for byte, and returns the response. */
  repeat(sessionId: string): Promise<{ status: number; reason?: string; state?: string }>
}

/** Wraps fetch. Requests pass unchanged. */
export function rememberAssertion(fetch: FetchLike): AssertionMemory {
  const last = new Map<string, { url: string; request: RequestLike }>()
  return {
    fetch(url, request) {
      if (url.endsWith('/api/v1/attestations') && request.body !== undefined) {
        const { session_id } = JSON.parse(request.body) as { session_id: string }
        last.set(session_id, { url, request })
        const [oldest] = last.keys()
        if (last.size > REMEMBERED && oldest !== undefined) last.delete(oldest)
      }
      return fetch(url, request)
    },
    async repeat(sessionId) {
      const sent = last.get(sessionId)
      if (sent === undefined) throw new Error('no assertion of this session has been sent')
      const response = await fetch(sent.url, sent.request)
      const body = JSON.parse(await response.text()) as {
        state?: string
        error?: { reason?: string; code?: string }
      }
      const reason = body.error?.reason ?? body.error?.code
      return {
        status: response.status,
        ...(reason === undefined ? {} : { reason }),
        ...(body.state === undefined ? {} : { state: body.state }),
      }
    },
  }
}
