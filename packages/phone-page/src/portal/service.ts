import type { WebhookDeliveryList, WebhookEndpointList, WebhookEventLog } from '@bonded/contract'

const TIMEOUT_MS = 15_000
const UNAUTHORIZED = 401
const TOO_MANY_REQUESTS = 429

/** What the portal could not do, in words. */
export class PortalFailure extends Error {
  /** Whether only a new link helps. */
  readonly isFinal: boolean

  constructor(message: string, { isFinal = false } = {}) {
    super(message)
    this.isFinal = isFinal
  }
}

/** What the list of deliveries is limited to. An empty text selects all. */
export interface Filter {
  readonly state: string
  readonly type: string
  readonly endpoint_id: string
}

/** The service, as the portal calls it. */
export interface PortalService {
  endpoints(): Promise<WebhookEndpointList>
  deliveries(filter: Filter, before: string | null): Promise<WebhookDeliveryList>
  event(eventId: string): Promise<WebhookEventLog['deliveries']>
  retry(eventId: string, endpointId: string): Promise<number>
  recover(endpointId: string, since: string): Promise<number>
}

/**
 * Calls the service at the portal's own origin. The token is only in a header.
 *
 * @param token returns the token of the current link
 */
export function createPortalService(request: typeof fetch, token: () => string): PortalService {
  const call = async <T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> => {
    let response: Response
    try {
      response = await request(`/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token()}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        credentials: 'omit',
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      if (response.ok) return (await response.json()) as T
    } catch {
      throw new PortalFailure('No connection. Try again.')
    }
    if (response.status === UNAUTHORIZED)
      throw new PortalFailure('This link has expired. Open the deliveries again from your site.', {
        isFinal: true,
      })
    if (response.status === TOO_MANY_REQUESTS)
      throw new PortalFailure('Too many requests. Wait a minute, and try again.')
    throw new PortalFailure(`The service could not do this (${response.status}). Try again.`)
  }
  const due = async (path: string, body: object) =>
    (await call<{ readonly deliveries: number }>('POST', path, body)).deliveries
  return {
    endpoints: () => call('GET', '/webhook-endpoints'),
    deliveries(filter, before) {
      const given = Object.entries({ ...filter, before: before ?? '' })
      const query = new URLSearchParams(given.filter(([, value]) => value !== ''))
      return call('GET', `/webhook-deliveries?${query.toString()}`)
    },
    event: async (id) =>
      (await call<WebhookEventLog>('GET', `/webhook-deliveries/${id}`)).deliveries,
    retry: (id, endpoint_id) => due(`/webhook-deliveries/${id}/retry`, { endpoint_id }),
    recover: (id, since) => due(`/webhook-endpoints/${id}/recovery`, { since }),
  }
}
