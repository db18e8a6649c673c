import { WAKE_UP_TTL_MS } from '@bonded/core/domain/inbox'
import { ATTEMPT_TIMEOUT_MS } from '@bonded/core/domain/webhooks'
import type { PushTransport } from '@bonded/core/ports/push'
import { checkedPost, type PostOptions } from '../webhooks/checked-post.ts'
import { readDestination } from '../webhooks/destination.ts'

/** The push services of Chrome, Firefox, Edge, and Safari. */
const PUSH_HOSTS = [
  'fcm.googleapis.com',
  'updates.push.services.mozilla.com',
  '*.notify.windows.com',
  'web.push.apple.com',
]

/** Only the status of a response is read. */
const MAX_RESPONSE_BYTES = 1

type TransportOptions = Omit<PostOptions, 'timeoutMs' | 'maxResponseBytes' | 'hosts'> & {
  /** Hosts beside the known ones. */
  readonly hosts: readonly string[]
}

/**
 * Sends wake-ups by the transport of webhooks: a phone of a stranger names the URL. Unlike that of
 * a webhook, it has no host that may be inside the network of the operator.
 */
export function pushTransport({ hosts, ...options }: TransportOptions): PushTransport {
  const known = [...PUSH_HOSTS, ...hosts]
  const limits = { timeoutMs: ATTEMPT_TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES }
  const post = checkedPost({ ...options, ...limits, hosts: [] })
  const serviceOf = (endpoint: string) => {
    const { host } = new URL(endpoint)
    return known.find((name) => isHostOf(name, host))
  }
  return {
    serviceOf,
    endpointProblem(endpoint) {
      const destination = readDestination(endpoint, [])
      if (typeof destination === 'string') return destination
      return serviceOf(endpoint) === undefined ? 'its host is no known push service' : undefined
    },
    // Checked again, because the operator can have removed a host since.
    async send({ endpoint, key, contact }, stop) {
      if (serviceOf(endpoint) === undefined) return { error: 'address_rejected' }
      const now = options.clock.now()
      const authorization = await key.authorization({ endpoint, contact, now })
      return post({ url: endpoint, body: '', headers: () => headersOf(authorization) }, stop)
    },
  }
}

/** A later wake-up replaces an earlier one that the phone has not received. */
function headersOf(authorization: string): Readonly<Record<string, string>> {
  return { authorization, ttl: String(WAKE_UP_TTL_MS / 1_000), urgency: 'high', topic: 'inbox' }
}

function isHostOf(name: string, host: string): boolean {
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name
}

/** Parses hosts, separated by commas. Undefined if one of them is not in this form. */
export function parsePushHosts(text: string): readonly string[] | undefined {
  const hosts = text === '' ? [] : text.split(',').map((host) => host.trim().toLowerCase())
  const isHost = (host: string) => /^(\*\.)?([a-z0-9-]+\.)+[a-z][a-z0-9-]*$/.test(host)
  return hosts.every(isHost) ? hosts : undefined
}
