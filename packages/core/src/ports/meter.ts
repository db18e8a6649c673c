import {
  type EndpointName,
  type Reason,
  type ShedPriority,
  UNREADINESS,
  type Unreadiness,
} from '@bonded/contract'
import type { Instant, Session } from '../domain/session.ts'
import { STORE_FAILURES } from './store.ts'
import type { StoredEvent } from './tables/session-table.ts'

/**
 * The route of a request: an endpoint of the table, or one of these. A read that waits for a change
 * is counted separately, and so is an unreadable request.
 */
export const OTHER_ROUTES = [
  'pollSession',
  'channel',
  'script',
  'qr',
  'logo',
  'handoff',
  'frame',
  'portal',
  'home',
  'app_links',
  'receipt_log',
  'unmatched',
  'broken',
] as const
export type RouteName = EndpointName | (typeof OTHER_ROUTES)[number]

export { SHED_PRIORITIES, type ShedPriority } from '@bonded/contract'
/**
 * The caller of a request that is rejected during an overload: within its tenant's share, above it,
 * or unknown to the service.
 */
export const SHED_STANDINGS = ['within', 'above', 'unknown'] as const
export type ShedStanding = (typeof SHED_STANDINGS)[number]

/**
 * The results of an attempt to deliver an event: a status of 200 to 299, another one, none, or a
 * failure of the service itself, after which the receiver has got nothing.
 */
export const WEBHOOK_RESULTS = ['delivered', 'rejected', 'no_response', 'not_sent'] as const
export type WebhookResult = (typeof WEBHOOK_RESULTS)[number]

/**
 * The results of a wake-up: those of a webhook, a subscription that the push service has ended, and
 * one that was not sent because too many others wait for their push service.
 */
export const WAKE_UP_RESULTS = [...WEBHOOK_RESULTS, 'ended', 'dropped'] as const
export type WakeUpResult = (typeof WAKE_UP_RESULTS)[number]

/** The queue of webhooks. Endpoints that are disabled do not count. */
export interface WebhookFigures {
  /** Deliveries that wait for an attempt, counted up to 10,000. */
  readonly waiting: number
  /** How long the oldest delivery that is due waits, at endpoints that are not paused. */
  readonly oldestDueMs: number
  /** Endpoints that failed so often that they get one delivery at a time. */
  readonly openBreakers: number
  /** How long the oldest audit entry waits that an endpoint of the operator has not accepted. */
  readonly oldestAuditMs: number
}

/** The log of receipts. All nodes see the same one, but each decides for itself whether to sign. */
export interface ReceiptLogFigures {
  /** How long the oldest receipt or audit entry waits for its place in the log. */
  readonly oldestWaitingMs: number
  /** Whether this node refuses to sign, because the log does not continue what it knows. */
  readonly isRefused: boolean
  /** When the log began after another one was closed; 0 for the first log. */
  readonly begunAt: Instant
}

/**
 * What a failure comes from, whatever work it stops: a failed check of the readiness, the database,
 * or what another party provides.
 */
export const FAILURE_CAUSES = [
  ...(Object.keys(UNREADINESS) as Unreadiness[]),
  ...STORE_FAILURES.map((kind) => `database_${kind}` as const),
  'carrier',
  'checkpoint_file',
  'signer',
  'witness',
] as const
export type FailureCause = (typeof FAILURE_CAUSES)[number]

/** The results of an exchange of limits. */
export const EXCHANGE_RESULTS = ['ok', 'failed', 'no_database'] as const
export type ExchangeResult = (typeof EXCHANGE_RESULTS)[number]

/** Work that no caller waits for: scheduled maintenance, webhooks, and wake-ups. */
export const BACKGROUND_WORK = [
  'credentials',
  'expire',
  'node_level',
  'publish_external',
  'purge',
  'receipts',
  'repair_times',
  'share_limits',
  'wake_ups',
  'webhooks',
  'witnesses',
] as const
export type BackgroundWork = (typeof BACKGROUND_WORK)[number]

/**
 * Counts what the service does. Every label is from a closed set, so no caller can make it grow. It
 * never throws, never waits, and is cheap enough for every request.
 */
export interface Meter {
  /** Counts a response. */
  responded(response: {
    readonly route: RouteName
    readonly ms: number
    readonly reason: Reason | undefined
  }): void
  /** Counts a request that was rejected before it was read, because the service is overloaded. */
  shed(priority: ShedPriority, standing: ShedStanding): void
  /** Counts a durable session event, once, in the process that made it. */
  happened(event: StoredEvent, session: Session): void
  /** Counts a commit and its units of work. */
  committed(units: number): void
  /** Counts a failure for its cause. */
  failed(cause: FailureCause): void
  /** Counts an exchange of limits between nodes, and whether this node could learn from it. */
  exchangedLimits(result: ExchangeResult): void
  /** Counts a finished batch of maintenance. */
  worked(work: BackgroundWork, done: number): void
  /** Counts a failure of background work that no other cause explains: a defect. */
  workFailed(work: BackgroundWork): void
  /** Reports the log of receipts, as this node sees it. */
  measuredReceiptLog(figures: ReceiptLogFigures): void
  /** Reports how many server credentials expire soon, or just have. All nodes see the same ones. */
  measuredCredentials(expiring: number): void
  /** Reports whether this node ignores a feature that is in use. */
  measuredLevel(isOutdated: boolean): void
  /** Counts an attempt to deliver an event, and whether it was the last one that failed. */
  attemptedWebhook(result: WebhookResult, isGivenUp: boolean): void
  /** Counts a phone that was to be woken. */
  wokePhone(result: WakeUpResult): void
  /** Reports the queue of webhooks. All nodes see the same one. */
  measuredWebhooks(figures: WebhookFigures): void
  /** Counts spans that were dropped, because the collector did not accept them in time. */
  droppedSpans(count: number): void
  /** Registers the sources that are read only when metrics are collected. */
  watch(sources: MeterSources): void
  /** Registers the source of a PostgreSQL database's figures. Without it, they are 0. */
  watchDatabase(read: () => DatabaseFigures): void
}

/** A node's view of its PostgreSQL database. */
export interface DatabaseFigures {
  readonly usedConnections: number
  readonly idleConnections: number
  /** Calls that wait for a connection. */
  readonly waitingCalls: number
  /** The slowest reading of the database's clock since the figures were read last. */
  readonly roundTripMs: number
  /** How far the clock of this machine is ahead of the database's. */
  readonly clockAheadMs: number
}

/** The connections of the process: those open now, and the totals that its limits closed. */
export interface ConnectionCounts {
  readonly open: number
  /** Closed as soon as they were opened. */
  readonly rejected: number
  /** Closed in favor of a newer connection. */
  readonly evicted: number
}

/** Figures that a meter reads when metrics are collected. */
export interface MeterSources {
  readonly openChannels: () => number
  /** How far the time of day is from the time elapsed, since it was set. */
  readonly clockStepMs: () => number
  readonly connections: () => ConnectionCounts
  /** Requests that wait for their turn. */
  readonly waitingRequests: () => number
}

/** A meter that counts nothing, for a service without metrics. */
export const noMeter: Meter = {
  responded() {},
  shed() {},
  happened() {},
  committed() {},
  failed() {},
  exchangedLimits() {},
  worked() {},
  workFailed() {},
  measuredReceiptLog() {},
  measuredCredentials() {},
  measuredLevel() {},
  attemptedWebhook() {},
  wokePhone() {},
  measuredWebhooks() {},
  droppedSpans() {},
  watch() {},
  watchDatabase() {},
}
