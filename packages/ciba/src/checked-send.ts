import { checkedPost } from '@bonded/server/adapters/webhooks/checked-post'
import type { Configuration } from 'oidc-provider'

/** A receiver has as much time as one of webhooks. */
const TIMEOUT_MS = 15_000
/** Only the status of a response counts. */
const MAX_RESPONSE_BYTES = 1

const clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  schedule(at: number, callback: () => void) {
    const timer = setTimeout(callback, at - Date.now()).unref()
    return () => clearTimeout(timer)
  },
}

/** Sends JSON once. It never rejects. */
export type Send = (request: {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}) => ReturnType<ReturnType<typeof checkedPost>>

/** The transport of webhooks: addresses are checked, and no redirect is followed. */
export function checkedSend(hosts: readonly string[], stop: AbortSignal): Send {
  const limits = { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES }
  const post = checkedPost({ clock, hosts, ...limits })
  return ({ headers, ...request }) => post({ ...request, headers: () => headers }, stop)
}

/** The same transport for the library, which only notifies clients. */
export function fetchBy(send: Send): NonNullable<Configuration['fetch']> {
  return async (url, { method, headers, body } = {}) => {
    if (method !== 'POST' || typeof body !== 'string')
      throw new Error('Only notifications are sent.')
    const given = Object.fromEntries(new Headers(headers))
    const result = await send({ url: String(url), headers: given, body })
    if ('error' in result) throw new Error(result.error)
    return new Response(null, { status: result.status })
  }
}
