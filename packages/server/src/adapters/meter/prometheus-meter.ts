import { monitorEventLoopDelay } from 'node:perf_hooks'
import { ENDPOINTS, type EndpointName, REASON_NAMES } from '@bonded/contract'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import {
  BACKGROUND_WORK,
  type BackgroundWork,
  type DatabaseFigures,
  EXCHANGE_RESULTS,
  FAILURE_CAUSES,
  type Meter,
  type MeterSources,
  OTHER_ROUTES,
  type RouteName,
  SHED_PRIORITIES,
  SHED_STANDINGS,
  WAKE_UP_RESULTS,
  WEBHOOK_RESULTS,
  type WebhookFigures,
} from '@bonded/core/ports/meter'

/** The buckets: from a read out of memory to a request whose caller has timed out. */
const LATENCY_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
/** A commit costs the same for one write as for many, so the distribution shows the savings. */
const COMMIT_BUCKETS_UNITS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
/** A finer resolution costs more in timer work than its precision is worth. */
const LAG_RESOLUTION_MS = 10
const LAG_QUANTILES = [0.5, 0.99, 1] as const
const NANOSECONDS_A_SECOND = 1e9

const ROUTE_NAMES: readonly RouteName[] = [
  ...(Object.keys(ENDPOINTS) as EndpointName[]),
  ...OTHER_ROUTES,
]
const WORK: readonly BackgroundWork[] = ['expire', 'purge']

/** A meter that exports its metrics in the text format of Prometheus. */
export interface PrometheusMeter extends Meter, Disposable {
  readonly contentType: string
  read(): Promise<string>
}

/**
 * A meter over prom-client. It creates every series before the first request. Labels take values of
 * closed lists only, so the number of series is fixed and counting needs no lookup by label.
 */
// oxlint-disable-next-line max-lines-per-function -- a list: an entry for each metric
export function prometheusMeter({ version }: { version: string }): PrometheusMeter {
  const registry = new Registry()
  const registers = [registry]
  const { counter, countersBy, gauge } = metricsIn(registers)

  const created = counter('bonded_sessions_created_total', 'Sessions created.')
  const bonds = counter('bonded_bonds_total', 'Sessions bonded to a phone.')
  const stepUps = counter('bonded_step_ups_total', 'Sessions that required a step-up.')
  const completions = counter('bonded_completions_total', 'Sessions completed after the action.')
  const declines = counter('bonded_declines_total', 'Sessions that the user declined.')
  const notMe = counter(
    'bonded_not_me_total',
    'Sessions that the user reported as not started by them.',
  )
  const expiries = counter('bonded_expiries_total', 'Sessions that expired.')
  const failuresBy = countersBy('cause', FAILURE_CAUSES, [
    'bonded_failures_total',
    'Failures by cause, of requests and of background work.',
  ])
  const exchangesBy = countersBy('result', EXCHANGE_RESULTS, [
    'bonded_limit_exchanges_total',
    'Exchanges of limits with the other nodes, by result. Without them a node counts alone.',
  ])
  const rejectionsBy = countersBy('reason', REASON_NAMES, [
    'bonded_refusals_total',
    'Requests rejected, by reason.',
  ])
  const shed = new Counter({
    name: 'bonded_shed_requests_total',
    help: 'Requests rejected during an overload, by priority and by the standing of the caller.',
    labelNames: ['priority', 'caller'],
    registers,
  })
  const shedBy = bindAll(SHED_PRIORITIES, (priority) =>
    bindAll(SHED_STANDINGS, (caller) => shed.labels({ priority, caller })),
  )
  for (const callers of shedBy.values()) for (const bound of callers.values()) bound.inc(0)
  const workedBy = countersBy('work', WORK, [
    'bonded_background_sessions_total',
    'Sessions processed by scheduled maintenance, by type of work.',
  ])

  const workFailuresBy = countersBy('work', BACKGROUND_WORK, [
    'bonded_background_failures_total',
    'Failures of background work that no other cause explains, by type of work.',
  ])

  const latency = new Histogram({
    name: 'bonded_request_duration_seconds',
    help: 'Time from request to response, by route.',
    labelNames: ['route'],
    buckets: LATENCY_BUCKETS_SECONDS,
    registers,
  })
  for (const route of ROUTE_NAMES) latency.zero({ route })
  const latencyBy = bindAll(ROUTE_NAMES, (route) => latency.labels(route))
  const commits = new Histogram({
    name: 'bonded_commit_units',
    help: 'Units of work per commit.',
    buckets: COMMIT_BUCKETS_UNITS,
    registers,
  })

  const droppedSpans = counter(
    'bonded_spans_dropped_total',
    'Spans of traces that the collector did not accept in time.',
  )

  const outdated = gauge(
    'bonded_node_outdated',
    '1 while a feature is in use that this node ignores, because its version is older.',
  )
  let sources: MeterSources | undefined
  let readDatabase: (() => DatabaseFigures) | undefined
  gauge('bonded_open_channels', 'Open channels.', () => sources?.openChannels() ?? 0)
  gauge(
    'bonded_clock_step_seconds',
    'How far the clock of this service was set. 0 again when it is back, or after an hour.',
    () => (sources?.clockStepMs() ?? 0) / 1_000,
  )
  gauge('bonded_open_connections', 'Open connections.', () => sources?.connections().open ?? 0)
  gauge(
    'bonded_waiting_requests',
    'Requests that wait for their turn. Above 0 only during bursts and overloads.',
    () => sources?.waitingRequests() ?? 0,
  )
  const closedByLimits = ['rejected', 'evicted'] as const
  const closed = new Counter({
    name: 'bonded_connections_closed_total',
    help: 'Connections closed by the connection limits: new ones, or idle ones in favor of new ones.',
    labelNames: ['how'],
    registers: [],
    collect() {
      // The limits count the totals themselves, so each scrape copies them.
      this.reset()
      for (const how of closedByLimits) this.inc({ how }, sources?.connections()[how] ?? 0)
    },
  })
  registry.registerMetric(closed)
  registerDatabase(registers, () => readDatabase?.())
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  lag.enable()
  const lags = new Gauge({
    registers: [],
    name: 'bonded_event_loop_lag_seconds',
    help: 'Event loop lag since the previous scrape, by quantile.',
    labelNames: ['quantile'],
    collect() {
      // Node measures the interval between two samples, which includes the resolution itself.
      const lagOf = (quantile: number) =>
        Math.max(
          0,
          lag.percentile(quantile * 100) / NANOSECONDS_A_SECOND - LAG_RESOLUTION_MS / 1_000,
        )
      for (const quantile of LAG_QUANTILES) this.set({ quantile }, lagOf(quantile))
      lag.reset()
    },
  })
  registry.registerMetric(lags)
  const build = new Gauge({
    name: 'bonded_build_info',
    help: 'Always 1. The labels are the versions of the service and of Node.',
    labelNames: ['version', 'node'],
    registers,
  })
  build.set({ version, node: process.versions.node }, 1)

  return {
    contentType: registry.contentType,
    read: () => registry.metrics(),
    responded({ route, ms, reason }) {
      latencyBy.get(route)?.observe(ms / 1_000)
      if (reason !== undefined) rejectionsBy.get(reason)?.inc()
    },
    shed(priority, standing) {
      shedBy.get(priority)?.get(standing)?.inc()
      rejectionsBy.get('overloaded')?.inc()
    },
    happened({ kind }, { endedReason }) {
      switch (kind) {
        case 'created':
          return created.inc()
        case 'bonded':
          return bonds.inc()
        case 'step_up_required':
          return stepUps.inc()
        case 'completed':
          return completions.inc()
        case 'expired':
          return expiries.inc()
        case 'killed':
          if (endedReason === 'user_declined') declines.inc()
          if (endedReason === 'user_unexpected') notMe.inc()
      }
    },
    committed: (units) => commits.observe(units),
    failed: (cause) => failuresBy.get(cause)?.inc(),
    exchangedLimits: (result) => exchangesBy.get(result)?.inc(),
    worked: (work, done) => workedBy.get(work)?.inc(done),
    workFailed: (work) => workFailuresBy.get(work)?.inc(),
    ...registerReceiptLog(registers),
    ...registerCredentials(registers),
    measuredLevel: (isOutdated) => outdated.set(isOutdated ? 1 : 0),
    ...registerWebhooks(registers),
    droppedSpans: (count) => droppedSpans.inc(count),
    watch(given) {
      sources = given
    },
    watchDatabase(read) {
      readDatabase = read
    },
    [Symbol.dispose]: () => void lag.disable(),
  }
}

/** The figures of a PostgreSQL database. The first of these metrics reads them for all. */
function registerDatabase(registers: Registry[], read: () => DatabaseFigures | undefined): void {
  const { gauge } = metricsIn(registers)
  const roundTrip = new Gauge({
    name: 'bonded_database_round_trip_seconds',
    help: 'Slowest reading of the clock of the database since the previous scrape.',
    registers: [],
    collect() {
      const figures = read()
      this.set((figures?.roundTripMs ?? 0) / 1_000)
      clock.set((figures?.clockAheadMs ?? 0) / 1_000)
      connections.set({ state: 'used' }, figures?.usedConnections ?? 0)
      connections.set({ state: 'idle' }, figures?.idleConnections ?? 0)
      connections.set({ state: 'waiting' }, figures?.waitingCalls ?? 0)
    },
  })
  for (const registry of registers) registry.registerMetric(roundTrip)
  const clock = gauge(
    'bonded_clock_difference_seconds',
    'How far the clock of this machine is ahead of the clock of the database.',
  )
  const connections = new Gauge({
    name: 'bonded_database_connections',
    help: 'Connections to the database by state, and calls that wait for one.',
    labelNames: ['state'],
    registers,
  })
}

/** The log of receipts, which is empty where the service makes none. */
function registerReceiptLog(registers: Registry[]): Pick<Meter, 'measuredReceiptLog'> {
  const { gauge } = metricsIn(registers)
  const waiting = gauge(
    'bonded_receipt_oldest_waiting_seconds',
    'How long the oldest receipt or audit entry waits for its place in the log.',
  )
  const refused = gauge(
    'bonded_receipt_log_refused',
    '1 while this node refuses to sign, because the log does not continue what it knows.',
  )
  const begun = gauge(
    'bonded_receipt_log_begun_timestamp_seconds',
    'When the log of receipts began after another one was closed. 0 for the first log.',
  )
  return {
    measuredReceiptLog({ oldestWaitingMs, isRefused, begunAt }) {
      waiting.set(oldestWaitingMs / 1_000)
      refused.set(isRefused ? 1 : 0)
      begun.set(begunAt / 1_000)
    },
  }
}

function registerCredentials(registers: Registry[]): Pick<Meter, 'measuredCredentials'> {
  const { gauge } = metricsIn(registers)
  const expiring = gauge(
    'bonded_server_credentials_expiring',
    'Server credentials that expire within 14 days, or have expired in the last seven.',
  )
  return { measuredCredentials: (count) => expiring.set(count) }
}

/** The attempts of this node, and the queue that all nodes share. */
function registerWebhooks(
  registers: Registry[],
): Pick<Meter, 'attemptedWebhook' | 'measuredWebhooks' | 'wokePhone'> {
  const { counter, countersBy, gauge } = metricsIn(registers)
  const attemptsBy = countersBy('result', WEBHOOK_RESULTS, [
    'bonded_webhook_attempts_total',
    'Attempts to deliver a webhook, by result.',
  ])
  const wakeUpsBy = countersBy('result', WAKE_UP_RESULTS, [
    'bonded_wake_ups_total',
    'Phones to wake for a request in an inbox, by result.',
  ])
  const givenUp = counter('bonded_webhooks_given_up_total', 'Webhooks whose last attempt failed.')
  const waiting = gauge('bonded_webhooks_waiting', 'Webhooks that wait for an attempt.')
  const oldest = gauge(
    'bonded_webhook_oldest_due_seconds',
    'How long the oldest webhook that is due waits.',
  )
  const breakers = gauge(
    'bonded_webhook_breakers_open',
    'Endpoints of webhooks that failed at least five times in a row.',
  )
  const audit = gauge(
    'bonded_audit_oldest_undelivered_seconds',
    'How long the oldest audit entry waits for the endpoint of the operator.',
  )
  return {
    attemptedWebhook(result, isGivenUp) {
      attemptsBy.get(result)?.inc()
      if (isGivenUp) givenUp.inc()
    },
    wokePhone: (result) => wakeUpsBy.get(result)?.inc(),
    measuredWebhooks(figures: WebhookFigures) {
      waiting.set(figures.waiting)
      oldest.set(figures.oldestDueMs / 1_000)
      breakers.set(figures.openBreakers)
      audit.set(figures.oldestAuditMs / 1_000)
    },
  }
}

/** Creates metrics with these registers. */
function metricsIn(registers: Registry[]) {
  const counter = (name: string, help: string) => new Counter({ name, help, registers })
  /** @param read what each scrape sets it to; without it, `set` is called */
  function gauge(name: string, help: string, read?: () => number): Gauge {
    const collect = read && { collect: (): void => created.set(read()) }
    const created: Gauge = new Gauge({ name, help, registers, ...collect })
    return created
  }
  /** A counter with one label, whose series all begin at 0. */
  function countersBy<Label extends string>(
    labelName: string,
    labels: readonly Label[],
    [name, help]: readonly [name: string, help: string],
  ): ReadonlyMap<Label, Counter.Internal> {
    const by = new Counter({ name, help, registers, labelNames: [labelName] })
    const bound = bindAll(labels, (label) => by.labels(label))
    for (const each of bound.values()) each.inc(0)
    return bound
  }
  return { counter, gauge, countersBy }
}

function bindAll<Label extends string, Bound>(
  labels: readonly Label[],
  bind: (label: Label) => Bound,
): ReadonlyMap<Label, Bound> {
  return new Map(labels.map((label) => [label, bind(label)]))
}
