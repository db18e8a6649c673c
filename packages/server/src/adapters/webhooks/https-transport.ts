import { LOGGED_CHARACTERS } from '@bonded/contract'
import { ATTEMPT_TIMEOUT_MS } from '@bonded/core/domain/webhooks'
import type { WebhookTransport } from '@bonded/core/ports/webhooks'
import { checkedPost, type PostOptions } from './checked-post.ts'
import { readDestination } from './destination.ts'
import { newSecret, signatureHeaders } from './signature.ts'

/** What the log keeps of a response. The rest is not read. */
const MAX_RESPONSE_BYTES = LOGGED_CHARACTERS.max

export type TransportOptions = Omit<PostOptions, 'timeoutMs' | 'maxResponseBytes'>

/**
 * Sends webhooks over HTTPS. The name of an endpoint is resolved once, each of its addresses is
 * checked, and the connection goes to a checked address. It follows no redirect, and opens a new
 * connection for each attempt.
 */
export function httpsTransport(options: TransportOptions): WebhookTransport {
  const { hosts } = options
  const limits = { timeoutMs: ATTEMPT_TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES }
  const post = checkedPost({ ...options, ...limits })
  return {
    newSecret,
    urlProblem(url, chosenBy) {
      const destination = readDestination(url, hosts)
      if (typeof destination === 'string') return destination
      return destination.isAllowed && chosenBy === 'tenant'
        ? 'only the operator can register this host'
        : undefined
    },
    send: (message, stop) =>
      post(
        {
          url: message.url,
          body: message.body,
          headers: (now) => ({
            ...signatureHeaders(message, now),
            'content-type': 'application/json',
          }),
        },
        stop,
      ),
  }
}
