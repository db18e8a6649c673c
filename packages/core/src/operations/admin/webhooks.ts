import { type EventType, makeId, type TenantId, type WebhookEndpointId } from '@bonded/contract'
import type { EventId } from '@bonded/contract'
import { iso } from '../../domain/iso.ts'
import { type DeliveryState, MAX_ENDPOINTS, ROTATION_MS } from '../../domain/webhooks.ts'
import type { Instant } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { WebhookDelivery, WebhookEndpoint } from '../../ports/tables/webhook-table.ts'
import type { Work } from '../../ports/work.ts'
import { secretsOf } from '../send-webhooks.ts'
import type { Service } from '../service.ts'
import { OperatorError } from './operator-error.ts'
import { findTenant } from './tenants.ts'

export interface NewEndpoint {
  readonly tenantId: TenantId
  readonly url: string
  /** Null for all events, also future ones. */
  readonly events: readonly EventType[] | null
  readonly scheme: WebhookEndpoint['scheme']
}

/** An endpoint, and what its tenant verifies signatures with. */
export interface EndpointWithVerifier {
  readonly endpoint: WebhookEndpoint
  readonly verifier: string
}

/**
 * Registers an endpoint. Sessions that are created from now on write events.
 *
 * @throws {OperatorError} if the tenant does not exist or has enough endpoints, or the URL cannot
 *   be used
 */
export async function createEndpoint(
  service: Service,
  { tenantId, url, events, scheme }: NewEndpoint,
): Promise<EndpointWithVerifier> {
  const { clock, keys, random, store, webhooks } = service
  await findTenant(service, tenantId)
  checkUrl(service, url)
  const id = makeId('we', random.id())
  const { secret, verifier } = webhooks.newSecret(scheme)
  const endpoint: WebhookEndpoint = {
    id,
    tenantId,
    url,
    events,
    scheme,
    sealedSecrets: keys.sealWebhook(JSON.stringify([secret]), id),
    previousUntil: null,
    createdAt: clock.now(),
    disabledAt: null,
    disabledReason: null,
    failures: 0,
    pausedUntil: 0,
  }
  await store.write(function* (tables) {
    const { length } = yield* tables.webhooks.endpoints(tenantId)
    if (length >= MAX_ENDPOINTS)
      throw new OperatorError(`The tenant has ${MAX_ENDPOINTS} endpoints already`, {
        code: 'conflict',
      })
    yield* tables.webhooks.addEndpoint(endpoint)
    yield* tables.tenants.setNotifies(tenantId, true)
  })
  return { endpoint, verifier }
}

export async function listEndpoints(
  service: Service,
  tenantId: TenantId,
): Promise<readonly WebhookEndpoint[]> {
  await findTenant(service, tenantId)
  return service.store.read((tables) => tables.webhooks.endpoints(tenantId))
}

/** The parts of an endpoint that can change. */
export interface EndpointChange {
  readonly url?: string | undefined
  readonly events?: readonly EventType[] | null | undefined
  /** A disabled endpoint gets nothing. Its events are held for a recovery. */
  readonly enabled?: boolean | undefined
}

/** @throws {OperatorError} if the endpoint does not exist, or the URL cannot be used */
export async function updateEndpoint(
  service: Service,
  id: WebhookEndpointId,
  { url, events, enabled }: EndpointChange,
): Promise<WebhookEndpoint> {
  if (url !== undefined) checkUrl(service, url)
  const now = service.clock.now()
  return changeEndpoint(service, id, (before) => {
    const isEnabled = enabled ?? before.disabledAt === null
    return {
      ...before,
      url: url ?? before.url,
      events: events === undefined ? before.events : events,
      disabledAt: isEnabled ? null : (before.disabledAt ?? now),
      disabledReason: isEnabled ? null : (before.disabledReason ?? 'operator'),
    }
  })
}

/**
 * Replaces the secret. The former one signs beside it for 24 hours.
 *
 * @throws {OperatorError} if the endpoint does not exist
 */
export async function rotateEndpoint(
  service: Service,
  id: WebhookEndpointId,
): Promise<EndpointWithVerifier> {
  const { clock, keys, webhooks } = service
  const previousUntil = clock.now() + ROTATION_MS
  let verifier = ''
  const endpoint = await changeEndpoint(service, id, (before) => {
    const made = webhooks.newSecret(before.scheme)
    verifier = made.verifier
    const secrets = [made.secret, ...secretsOf(service, before).slice(0, 1)]
    return {
      ...before,
      sealedSecrets: keys.sealWebhook(JSON.stringify(secrets), id),
      previousUntil,
    }
  })
  return { endpoint, verifier }
}

/** @throws {OperatorError} if the endpoint does not exist */
export async function removeEndpoint(service: Service, id: WebhookEndpointId): Promise<void> {
  await service.store.write(function* (tables) {
    const { tenantId } = yield* found(tables, id)
    yield* tables.webhooks.removeEndpoint(id)
    const left = yield* tables.webhooks.endpoints(tenantId)
    if (left.length === 0) yield* tables.tenants.setNotifies(tenantId, false)
  })
}

/**
 * Adds a `webhook.test` event for the endpoint, which the service sends at once.
 *
 * @throws {OperatorError} if the endpoint does not exist
 */
export async function testEndpoint(service: Service, id: WebhookEndpointId): Promise<EventId> {
  const eventId = makeId('evt', service.random.id())
  const now = service.clock.now()
  const type = 'webhook.test'
  const payload = JSON.stringify({ type, sequence: 0, timestamp: iso(now), data: {}, id: eventId })
  await service.store.write(function* (tables) {
    const endpoint = yield* found(tables, id)
    yield* tables.webhooks.add({ endpoint, eventId, type, payload, now })
  })
  return eventId
}

/** Deliveries of a tenant, newest first. */
export async function listDeliveries(
  service: Service,
  query: { tenantId: TenantId; state?: DeliveryState | undefined; limit: number },
): Promise<readonly WebhookDelivery[]> {
  await findTenant(service, query.tenantId)
  return service.store.read((tables) => tables.webhooks.deliveries(query))
}

/**
 * The deliveries of an event, one for each endpoint.
 *
 * @throws {OperatorError} if the log does not have the event
 */
export async function inspectEvent(
  service: Service,
  id: EventId,
): Promise<readonly WebhookDelivery[]> {
  const deliveries = await service.store.read((tables) => tables.webhooks.deliveriesOf(id))
  if (deliveries.length === 0) throw notFound('event', id)
  return deliveries
}

/**
 * Sends an event again, also one that was delivered, to one endpoint or to all that got it.
 *
 * @returns how many deliveries are due now
 * @throws {OperatorError} if the log does not have the event for the endpoint
 */
export async function retryEvent(
  service: Service,
  id: EventId,
  endpointId?: WebhookEndpointId,
): Promise<number> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    const all = yield* tables.webhooks.deliveriesOf(id)
    const wanted = all.filter(
      (delivery) => endpointId === undefined || delivery.endpointId === endpointId,
    )
    if (wanted.length === 0) throw notFound('event', id)
    for (const delivery of wanted) yield* tables.webhooks.retry(delivery, now)
    return wanted.length
  })
}

/**
 * Sends again every event since then that failed or was held while the endpoint was disabled.
 *
 * @returns how many deliveries are due now
 * @throws {OperatorError} if the endpoint does not exist
 */
export async function recoverEndpoint(
  service: Service,
  id: WebhookEndpointId,
  since: Instant,
): Promise<number> {
  const now = service.clock.now()
  return service.store.write(function* (tables) {
    yield* found(tables, id)
    return yield* tables.webhooks.recover(id, since, now)
  })
}

async function changeEndpoint(
  service: Service,
  id: WebhookEndpointId,
  change: (before: WebhookEndpoint) => WebhookEndpoint,
): Promise<WebhookEndpoint> {
  return service.store.write(function* (tables) {
    const after = change(yield* found(tables, id))
    yield* tables.webhooks.updateEndpoint(after)
    return after
  })
}

function* found({ webhooks }: Tables, id: WebhookEndpointId): Work<WebhookEndpoint> {
  const endpoint = yield* webhooks.findEndpoint(id)
  if (endpoint === undefined) throw notFound('endpoint', id)
  return endpoint
}

function checkUrl({ webhooks }: Service, url: string): void {
  const problem = webhooks.urlProblem(url)
  if (problem !== undefined)
    throw new OperatorError(
      `The URL cannot be used: ${problem}. An endpoint is an https URL on port 443 of a public host; BONDED_WEBHOOK_HOSTS allows others`,
      { code: 'invalid' },
    )
}

function notFound(what: string, id: string): OperatorError {
  return new OperatorError(`There is no ${what} ${id}`, { code: 'not_found' })
}
