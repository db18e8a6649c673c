import type { FetchLike, RequestLike } from '@bonded/phone'

/** Far more sessions than one phone has open; older ones would only pile up. */
const REMEMBERED = 64

/** A fetch that remembers each session's last assertion, as one who listens on the line would. */
export interface AssertionMemory {
  readonly fetch: FetchLike
  /** Sends it again, byte by byte, and tells the answer. */
  repeat(sessionId: string): Promise<{ status: number; reason?: string; state?: string }>
}

/** Wraps fetch. What passes is not changed. */
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
      const answer = await fetch(sent.url, sent.request)
      const body = JSON.parse(await answer.text()) as {
        state?: string
        error?: { reason?: string; code?: string }
      }
      const reason = body.error?.reason ?? body.error?.code
      return {
        status: answer.status,
        ...(reason === undefined ? {} : { reason }),
        ...(body.state === undefined ? {} : { state: body.state }),
      }
    },
  }
}
