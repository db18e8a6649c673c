import type { EventType, WebhookDeliveryList, WebhookEventLog } from '@bonded/contract'
import { Secret, signWebhook } from '@bonded/integrator'
import type { Backend } from '../backend.ts'

/** No host has a name below `invalid`, and the endpoint is disabled: its events stay in the log. */
const LISTENER_URL = 'https://bonded-listen.invalid/'
/** The service waits as long for a receiver. */
const RESPONSE_WITHIN_MS = 15_000
const PAGE = 100

/** An event that was sent to the receiver. */
export interface Forwarded {
  readonly event_id: string
  readonly type: EventType
  /** The status of the response; null without one. */
  readonly status: number | null
}

export interface ForwarderOptions {
  readonly call: Backend
  readonly forwardTo: string
  /** What the receiver verifies signatures with. */
  readonly secret: Secret
  readonly clock: { now(): number }
}

interface EndpointList {
  readonly endpoints: readonly { readonly endpoint_id: string; readonly url: string }[]
}

/**
 * Reads the tenant's events from its log of deliveries and sends them to a receiver on this
 * machine. The service itself sends nothing there: the events are held for a disabled endpoint.
 */
export class Forwarder {
  readonly #options: ForwarderOptions
  readonly #endpointId: string
  /** The events of the newest page or pages of the log that are not to be sent, or were sent. */
  #known: Set<string> = new Set()

  private constructor(options: ForwarderOptions, endpointId: string) {
    this.#options = options
    this.#endpointId = endpointId
  }

  /** Starts with the events from now on. */
  static async open(options: ForwarderOptions): Promise<Forwarder> {
    const forwarder = new Forwarder(options, await endpointOf(options.call))
    const { deliveries } = await forwarder.#page()
    forwarder.#known = new Set(deliveries.map(({ event_id }) => event_id))
    return forwarder
  }

  /** Sends the events since the last call, the oldest first. */
  async *forward(): AsyncGenerator<Forwarded> {
    const read: { event_id: string; type: EventType }[] = []
    let page = await this.#page()
    read.push(...page.deliveries)
    // A page without a known event does not reach back to the last call.
    while (
      page.next !== null &&
      !page.deliveries.some(({ event_id }) => this.#known.has(event_id))
    ) {
      page = await this.#page(page.next)
      read.push(...page.deliveries)
    }
    const added = read.filter(({ event_id }) => !this.#known.has(event_id)).toReversed()
    const wasKnown = this.#known
    this.#known = new Set(read.map(({ event_id }) => event_id).filter((id) => wasKnown.has(id)))
    for (const { event_id, type } of added) {
      const status = await this.#send(event_id)
      // Not before: if the service does not answer, the next call sends it.
      this.#known.add(event_id)
      yield { event_id, type, status }
    }
  }

  #page(before?: string): Promise<WebhookDeliveryList> {
    const query = `endpoint_id=${this.#endpointId}&limit=${PAGE}`
    const next = before === undefined ? '' : `&before=${before}`
    return this.#options.call(`/webhook-deliveries?${query}${next}`, { method: 'GET' })
  }

  async #send(id: string): Promise<number | null> {
    const { call, forwardTo, secret, clock } = this.#options
    const log = await call<WebhookEventLog>(`/webhook-deliveries/${id}`, { method: 'GET' })
    const body = log.deliveries[0]?.payload ?? ''
    const signed = await signWebhook({ id, sentAtMs: clock.now(), body }, secret)
    try {
      const response = await fetch(forwardTo, {
        method: 'POST',
        headers: { ...signed, 'content-type': 'application/json' },
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(RESPONSE_WITHIN_MS),
      })
      await response.body?.cancel()
      return response.status
    } catch {
      return null
    }
  }
}

/** The endpoint of an earlier run is used again. */
async function endpointOf(call: Backend): Promise<string> {
  const { endpoints } = await call<EndpointList>('/webhook-endpoints', { method: 'GET' })
  const earlier = endpoints.find(({ url }) => url === LISTENER_URL)
  const { endpoint_id } =
    earlier ??
    (await call<{ endpoint_id: string }>('/webhook-endpoints', { body: { url: LISTENER_URL } }))
  await call(`/webhook-endpoints/${endpoint_id}`, { body: { enabled: false } })
  return endpoint_id
}
