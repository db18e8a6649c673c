import type { DeviceId, EventId, EventType, TenantId, WebhookEndpointId } from '@bonded/contract'
import type { Attempt, DeliveryState, Verdict } from '../../domain/webhooks.ts'
import type { Instant } from '../../domain/session.ts'
import type { WebhookFigures } from '../meter.ts'
import type { Work } from '../work.ts'

/** Whose endpoint it is: a tenant's, or the operator's, which receives the audit log. */
export type WebhookOwner = TenantId | 'operator'

/** A URL that receives events. */
export interface WebhookEndpoint {
  readonly id: WebhookEndpointId
  readonly tenantId: WebhookOwner
  readonly url: string
  /** The events that it receives; null for all. */
  readonly events: readonly EventType[] | null
  /** `v1` signs with HMAC-SHA256, `v1a` with Ed25519. */
  readonly scheme: 'v1' | 'v1a'
  /** How many characters of a response the log keeps. */
  readonly loggedCharacters: number
  /** Its secrets, encrypted by the keyring: JSON, the current one first. */
  readonly sealedSecrets: string
  /** Until when the former secret signs, too. */
  readonly previousUntil: Instant | null
  readonly createdAt: Instant
  readonly disabledAt: Instant | null
  readonly disabledReason: 'gone' | 'operator' | 'tenant' | null
  /** Failed attempts in a row. */
  readonly failures: number
  /** No attempt begins earlier. */
  readonly pausedUntil: Instant
  /** Until when the endpoint belongs to a node, whose lease this time names. 0 without a lease. */
  readonly leasedUntil: Instant
  /** The number of the last audit entry that it has accepted. */
  readonly auditPosition: number
}

/** An event for one endpoint: an entry of the queue, and of the log. */
export interface WebhookDelivery {
  readonly ordinal: number
  readonly eventId: EventId
  readonly endpointId: WebhookEndpointId
  readonly tenantId: WebhookOwner
  readonly type: EventType
  /** The body that is sent, in every attempt the same bytes. */
  readonly payload: string
  readonly createdAt: Instant
  readonly state: DeliveryState
  /** When the next attempt is due. Of a claimed delivery: when the claim ends. */
  readonly dueAt: Instant | null
  readonly attempts: number
  /** The latest attempts, oldest first. */
  readonly history: readonly Attempt[]
}

/** Endpoints to send to, by what waits for them. One of the operator can be in both. */
export interface DueEndpoints {
  readonly deliveries: readonly WebhookEndpoint[]
  readonly audit: readonly WebhookEndpoint[]
}

/** Deliveries that a node has claimed, and their endpoint, which it has leased. */
export interface ClaimedDeliveries {
  readonly endpoint: WebhookEndpoint
  readonly claimed: readonly WebhookDelivery[]
}

/** What identifies a delivery. */
export type DeliveryKey = Pick<WebhookDelivery, 'eventId' | 'endpointId'>

export interface DeliveryPage {
  readonly deliveries: readonly WebhookDelivery[]
  /** `before` of the next page; null on the last one. */
  readonly next: DeliveryKey | null
}

/** Which deliveries of a tenant to list. */
export interface DeliveryQuery {
  readonly tenantId: WebhookOwner
  readonly state?: DeliveryState | undefined
  readonly type?: EventType | undefined
  readonly endpointId?: WebhookEndpointId | undefined
  /** The last delivery of the page before. */
  readonly before?: DeliveryKey | undefined
  readonly limit: number
}

/** The endpoints and the deliveries. Units that change a session add its events themselves. */
export interface WebhookTable {
  addEndpoint(endpoint: WebhookEndpoint): Work<void>
  findEndpoint(id: WebhookEndpointId): Work<WebhookEndpoint | undefined>
  /** The endpoints of one owner, or of all, oldest first. */
  endpoints(tenantId?: WebhookOwner): Work<readonly WebhookEndpoint[]>
  /** Replaces the URL, events, secrets, logged characters, and whether it is disabled. */
  updateEndpoint(endpoint: WebhookEndpoint): Work<void>
  /** Encrypts the secrets anew, unless they have changed. */
  resealEndpoint(id: WebhookEndpointId, change: { before: string; after: string }): Work<void>
  /** Deletes an endpoint with its deliveries. */
  removeEndpoint(id: WebhookEndpointId): Work<void>
  /**
   * Stores what an attempt says about its endpoint, unless the endpoint has another URL by now. One
   * that is gone is disabled, and its deliveries are held.
   */
  recordEndpoint(
    tried: Pick<WebhookEndpoint, 'id' | 'url'>,
    change: { failures: number; pausedUntil: Instant; now: Instant; isGone: boolean },
  ): Work<void>
  /**
   * Endpoints without a lease for which something waits.
   *
   * @param limit of those with deliveries; a busy endpoint that was just tried comes last. Those of
   *   the operator for which audit entries wait are few.
   */
  dueEndpoints(now: Instant, limit: number): Work<DueEndpoints>
  /** The figures of the queue, from indexes alone. */
  figures(now: Instant): Work<WebhookFigures>
  /**
   * Claims due deliveries of an endpoint, and leases the endpoint. Undefined, without a change, if
   * nothing is due, another node has the lease, or the endpoint is disabled or paused. No two nodes
   * get the same delivery before its claim ends.
   *
   * @param claim.until when the claims end
   * @param claim.held the lease that the node has; 0 if none
   */
  claim(
    id: WebhookEndpointId,
    claim: { now: Instant; limit: number; until: Instant; held: Instant; leasedUntil: Instant },
  ): Work<ClaimedDeliveries | undefined>
  /** Leases an endpoint. Undefined if another node has it, or it is disabled or paused. */
  lease(
    id: WebhookEndpointId,
    lease: { now: Instant; held: Instant; leasedUntil: Instant },
  ): Work<WebhookEndpoint | undefined>
  /** Ends a lease, and notes the last accepted audit entry. No effect if another node has it. */
  releaseAudit(id: WebhookEndpointId, of: { position: number; held: Instant }): Work<void>
  /** Ends a lease, unless another node has the endpoint by now. */
  release(id: WebhookEndpointId, held: Instant): Work<void>
  /**
   * Repairs what a clock that was ahead has stored: what was created or tried in the future is due
   * now, and no pause lasts longer than the longest one.
   *
   * @returns how many endpoints and deliveries it repaired
   */
  repairTimes(now: Instant): Work<number>
  /** How many endpoints were tried, and deliveries created, in the future. */
  futureTimes(now: Instant): Work<number>
  /** Stores the result of an attempt. No effect if the claim has ended and another node has it. */
  record(delivery: WebhookDelivery, attempt: Attempt, verdict: Verdict): Work<void>
  /** Adds an event for one endpoint. */
  add(event: {
    endpoint: WebhookEndpoint
    eventId: EventId
    type: EventType
    payload: string
    now: Instant
  }): Work<void>
  /**
   * Adds the event of a device for each tenant with a recent bond of its user.
   *
   * @param event.about the device that the event names, if it names one
   */
  addDeviceEvent(
    id: DeviceId,
    event: { type: EventType; at: Instant; about: DeviceId | null },
  ): Work<void>
  /**
   * Deliveries of a tenant, newest first. It reads a bounded part of the log, so with filters a
   * page can have fewer deliveries than the limit although others follow.
   */
  deliveries(query: DeliveryQuery): Work<DeliveryPage>
  /** The deliveries of one event, one for each endpoint. */
  deliveriesOf(id: EventId): Work<readonly WebhookDelivery[]>
  /** Makes a delivery due at once, with all its attempts before it. */
  retry(delivery: WebhookDelivery, now: Instant): Work<void>
  /** Makes all failed and held deliveries of an endpoint since then due. @returns how many */
  recover(id: WebhookEndpointId, since: Instant, now: Instant): Work<number>
}
