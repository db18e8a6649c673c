import { monitorEventLoopDelay } from 'node:perf_hooks'
import { ENDPOINTS, type EndpointName, REASON_NAMES, type Reason } from '@bonded/contract'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { type BackgroundWork, type Meter, OTHER_ROUTES, type RouteName } from '../../ports/meter.ts'

/** From a reading out of memory to what a caller has long given up on. */
const LATENCY_BUCKETS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
/** A commit costs the same for one write as for many: where the mass lies says how much that saves. */
const COMMIT_BUCKETS_UNITS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
/** Finer costs the timer more than it tells. */
const LAG_RESOLUTION_MS = 10
const LAG_QUANTILES = [0.5, 0.99, 1] as const
const NANOSECONDS_A_SECOND = 1e9

const ROUTE_NAMES: readonly RouteName[] = [
  ...(Object.keys(ENDPOINTS) as EndpointName[]),
  ...OTHER_ROUTES,
]
const WORK: readonly BackgroundWork[] = ['expire', 'forget']

/** A meter that can be read, in the text format of Prometheus. */
export interface PrometheusMeter extends Meter, Disposable {
  readonly contentType: string
  read(): Promise<string>
}

/**
 * Counts with prom-client. Every series there can ever be is made here, before the first request: a label takes
 * only what is in a closed list, so the number of series is fixed, and counting looks nothing up by its labels.
 */
export function prometheusMeter({ version }: { version: string }): PrometheusMeter {
  const registers = [new Registry()]
  const [registry] = registers as [Registry]
  const counter = (name: string, help: string) => new Counter({ name, help, registers })

  const created = counter('bonded_sessions_created_total', 'Sessions created.')
  const bonds = counter('bonded_bonds_total', 'Sessions bonded to a phone.')
  const stepUps = counter('bonded_step_ups_total', 'Sessions that were asked for more proof.')
  const completions = counter('bonded_completions_total', 'Bonds closed after the action.')
  const declines = counter('bonded_declines_total', 'Sessions that the person declined.')
  const notMe = counter('bonded_not_me_total', 'Sessions that the person said they did not start.')
  const expiries = counter('bonded_expiries_total', 'Sessions whose time was up.')
  const commitFailures = counter(
    'bonded_commit_failures_total',
    'Groups of writes that could not be committed.',
  )

  const refusals = new Counter({
    name: 'bonded_refusals_total',
    help: 'Requests refused, by reason.',
    labelNames: ['reason'],
    registers,
  })
  const refusalsBy = bindAll(REASON_NAMES, (reason: Reason) => refusals.labels(reason))
  const worked = new Counter({
    name: 'bonded_background_sessions_total',
    help: 'Sessions dealt with in the background.',
    labelNames: ['work'],
    registers,
  })
  const workedBy = bindAll(WORK, (work) => worked.labels(work))
  for (const bound of [...refusalsBy.values(), ...workedBy.values()]) bound.inc(0)

  const latency = new Histogram({
    name: 'bonded_request_duration_seconds',
    help: 'From the request to its answer, by route.',
    labelNames: ['route'],
    buckets: LATENCY_BUCKETS_SECONDS,
    registers,
  })
  for (const route of ROUTE_NAMES) latency.zero({ route })
  const latencyBy = bindAll(ROUTE_NAMES, (route) => latency.labels(route))
  const commits = new Histogram({
    name: 'bonded_commit_units',
    help: 'Units of work that shared one commit.',
    buckets: COMMIT_BUCKETS_UNITS,
    registers,
  })

  let openChannels = () => 0
  const gauge = (figure: {
    name: string
    help: string
    labelNames?: string[]
    collect: (this: Gauge) => void
  }) => new Gauge({ ...figure, registers })
  gauge({
    name: 'bonded_open_channels',
    help: 'Channels open just now.',
    collect() {
      this.set(openChannels())
    },
  })
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  lag.enable()
  gauge({
    name: 'bonded_event_loop_lag_seconds',
    help: 'How late the event loop was since the last reading, by quantile.',
    labelNames: ['quantile'],
    collect() {
      // Node tells the time between two looks, of which the resolution is no lag.
      const lagOf = (quantile: number) =>
        Math.max(
          0,
          lag.percentile(quantile * 100) / NANOSECONDS_A_SECOND - LAG_RESOLUTION_MS / 1_000,
        )
      for (const quantile of LAG_QUANTILES) this.set({ quantile }, lagOf(quantile))
      lag.reset()
    },
  })
  gauge({
    name: 'bonded_build_info',
    help: 'Always 1; what is running stands in the labels.',
    labelNames: ['version', 'node'],
    collect() {
      this.set({ version, node: process.versions.node }, 1)
    },
  })

  return {
    contentType: registry.contentType,
    read: () => registry.metrics(),
    answered({ route, ms, reason }) {
      latencyBy.get(route)?.observe(ms / 1_000)
      if (reason !== undefined) refusalsBy.get(reason)?.inc()
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
    commitFailed: () => commitFailures.inc(),
    worked: (work, done) => workedBy.get(work)?.inc(done),
    watch(sources) {
      openChannels = sources.openChannels
    },
    [Symbol.dispose]: () => void lag.disable(),
  }
}

function bindAll<Label extends string, Bound>(
  labels: readonly Label[],
  bind: (label: Label) => Bound,
): ReadonlyMap<Label, Bound> {
  return new Map(labels.map((label) => [label, bind(label)]))
}
