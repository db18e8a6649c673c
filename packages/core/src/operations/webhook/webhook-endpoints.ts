import {
  type EventId,
  type EventType,
  LOGGED_CHARACTERS,
  makeId,
  type WebhookEndpointId,
} from '@bonded/contract'
import { iso } from '../../domain/iso.ts'
import { accept, reject, type Result } from '../../domain/rejection.ts'
import { MAX_ENDPOINTS, MAX_SECRETS, ROTATION_MS } from '../../domain/webhooks.ts'
import type { Tables } from '../../ports/store.ts'
import type { WebhookEndpoint, WebhookOwner } from '../../ports/tables/webhook-table.ts'
import type { Work } from '../../ports/work.ts'
import { liveSecrets } from './send-webhooks.ts'
import type { Service } from '../service.ts'

export interface NewEndpoint {
  readonly tenantId: WebhookOwner
  readonly url: string
  /** Null for all events, also future ones. */
  readonly events: readonly EventType[] | null
  readonly scheme: WebhookEndpoint['scheme']
  /** How many characters of a response the log keeps; 80 by default. */
  readonly loggedCharacters?: number | undefined
}

/** An endpoint, and what its tenant verifies signatures with. */
export interface EndpointWithVerifier {
  readonly endpoint: WebhookEndpoint
  readonly verifier: string
}

/** Creates an endpoint. Sessions that are created from now on write events. */
export async function createEndpoint(
  service: Service,
  { tenantId, url, events, scheme, loggedCharacters = LOGGED_CHARACTERS.usual }: NewEndpoint,
  by: WebhookOwner,
): Promise<Result<EndpointWithVerifier>> {
  const { clock, keys, random, store, webhooks } = service
  const usable = checkUrl(service, url, by)
  if (!usable.ok) return usable
  const id = makeId('we', random.id())
  const { secret, verifier } = webhooks.newSecret(scheme)
  const endpoint: WebhookEndpoint = {
    id,
    tenantId,
    url,
    events,
    scheme,
    loggedCharacters,
    sealedSecrets: keys.sealWebhook(JSON.stringify([secret]), id),
    previousUntil: null,
    createdAt: clock.now(),
    disabledAt: null,
    disabledReason: null,
    failures: 0,
    pausedUntil: 0,
    leasedUntil: 0,
    auditPosition: 0,
  }
  return store.write(function* (tables) {
    // Locks the tenant, so that creates at once see each other's endpoints.
    yield* tables.tenants.setNotifies(tenantId, true)
    const { length } = yield* tables.webhooks.endpoints(tenantId)
    if (length >= MAX_ENDPOINTS) return reject('too_many_webhook_endpoints')
    yield* tables.concerns({ endpointId: id, ...(tenantId !== 'operator' && { tenantId }) })
    yield* tables.webhooks.addEndpoint(endpoint)
    return accept({ endpoint, verifier })
  })
}

/** The endpoints of a tenant, the oldest first. */
export function listEndpoints(
  { store }: Service,
  tenantId: WebhookOwner,
): Promise<readonly WebhookEndpoint[]> {
  return store.read((tables) => tables.webhooks.endpoints(tenantId))
}

/** The parts of an endpoint that can change. */
export interface EndpointChange {
  readonly url?: string | undefined
  readonly events?: readonly EventType[] | null | undefined
  /** A disabled endpoint gets nothing. Its events are held for a recovery. */
  readonly enabled?: boolean | undefined
  readonly loggedCharacters?: number | undefined
}

/** An endpoint as its path names it: an id of another form is undefined. */
type Named = WebhookEndpointId | undefined

export async function updateEndpoint(
  service: Service,
  id: Named,
  { url, events, enabled, loggedCharacters, by }: EndpointChange & { readonly by: WebhookOwner },
): Promise<Result<WebhookEndpoint>> {
  if (url !== undefined) {
    const usable = checkUrl(service, url, by)
    if (!usable.ok) return usable
  }
  const now = service.clock.now()
  const reason = by === 'operator' ? 'operator' : 'tenant'
  return changeEndpoint(service, { id, by }, (before) => {
    const isEnabled = enabled ?? before.disabledAt === null
    return {
      ...before,
      url: url ?? before.url,
      events: events === undefined ? before.events : events,
      loggedCharacters: loggedCharacters ?? before.loggedCharacters,
      disabledAt: isEnabled ? null : (before.disabledAt ?? now),
      disabledReason: isEnabled ? null : (before.disabledReason ?? reason),
    }
  })
}

/**
 * Replaces the secret. Each one that signed before signs beside it for 24 hours, so that a response
 * that was lost, and repeated, does not end the secret that the receiver has.
 */
export async function rotateEndpoint(
  service: Service,
  id: Named,
  by: WebhookOwner,
): Promise<Result<EndpointWithVerifier>> {
  const { clock, keys, webhooks } = service
  const previousUntil = clock.now() + ROTATION_MS
  let verifier = ''
  const changed = await changeEndpoint(service, { id, by }, (before) => {
    const made = webhooks.newSecret(before.scheme)
    verifier = made.verifier
    const secrets = [made.secret, ...liveSecrets(service, before)].slice(0, MAX_SECRETS)
    const sealedSecrets = keys.sealWebhook(JSON.stringify(secrets), before.id)
    return { ...before, sealedSecrets, previousUntil }
  })
  return changed.ok ? accept({ endpoint: changed.value, verifier }) : changed
}

/** Deletes an endpoint with its deliveries. */
export async function removeEndpoint(
  service: Service,
  id: Named,
  by: WebhookOwner,
): Promise<Result<null>> {
  return service.store.write(function* (tables) {
    const found = yield* findEndpoint(tables, id, by)
    if (!found.ok) return found
    const { tenantId, id: removed } = found.value
    // Locks the tenant: an endpoint that is created meanwhile must not lose its events.
    yield* tables.tenants.setNotifies(tenantId, true)
    yield* tables.webhooks.removeEndpoint(removed)
    const left = yield* tables.webhooks.endpoints(tenantId)
    if (left.length === 0) yield* tables.tenants.setNotifies(tenantId, false)
    return accept(null)
  })
}

/** Adds a `webhook.test` event for the endpoint, which the service sends at once. */
export async function testEndpoint(
  service: Service,
  id: Named,
  by: WebhookOwner,
): Promise<Result<EventId>> {
  const eventId = makeId('evt', service.random.id())
  const now = service.clock.now()
  const type = 'webhook.test'
  const payload = JSON.stringify({ type, sequence: 0, timestamp: iso(now), data: {}, id: eventId })
  return service.store.write(function* (tables) {
    const found = yield* findEndpoint(tables, id, by)
    if (!found.ok) return found
    yield* tables.webhooks.add({ endpoint: found.value, eventId, type, payload, now })
    yield* tables.concerns({ eventId })
    return accept(eventId)
  })
}

/** Finds an endpoint that this caller manages. One of another tenant reads like an unknown one. */
export function* findEndpoint(
  { webhooks }: Tables,
  id: Named,
  by: WebhookOwner,
): Work<Result<WebhookEndpoint>> {
  const endpoint = id && (yield* webhooks.findEndpoint(id))
  return endpoint !== undefined && (by === 'operator' || endpoint.tenantId === by)
    ? accept(endpoint)
    : reject('webhook_endpoint_not_found')
}

async function changeEndpoint(
  service: Service,
  { id, by }: { readonly id: Named; readonly by: WebhookOwner },
  change: (before: WebhookEndpoint) => WebhookEndpoint,
): Promise<Result<WebhookEndpoint>> {
  return service.store.write(function* (tables) {
    const found = yield* findEndpoint(tables, id, by)
    if (!found.ok) return found
    const after = change(found.value)
    yield* tables.webhooks.updateEndpoint(after)
    return accept(after)
  })
}

function checkUrl({ webhooks }: Service, url: string, by: WebhookOwner): Result<null> {
  const problem = webhooks.urlProblem(url, by === 'operator' ? 'operator' : 'tenant')
  return problem === undefined
    ? accept(null)
    : reject('webhook_url_invalid', { param: 'url', detail: `Here ${problem}.` })
}
