import { parseInstant, type TenantId } from '@bonded/contract'
import {
  endedOf,
  medianLatencyS,
  type Totals,
  TOTALS_GROUPINGS,
  TOTALS_RETENTION_MS,
  type TotalsGrouping,
  type TotalsRow,
} from '@bonded/core/domain/totals'
import { reportTotals } from '@bonded/core/operations/admin/report-totals'
import { Command, Option } from 'commander'
import { limitOption, optionalTenantArgument } from '../program/arguments.ts'
import { durationUpTo } from '../program/duration.ts'
import { type Options, withService } from '../program/open.ts'
import { isoTime, print, table } from '../program/output.ts'

interface StatsOptions extends Options {
  readonly workflow?: string
  readonly since: (now: number) => number
  readonly by: TotalsGrouping
  readonly limit: number
}

const DAY_MS = 24 * 60 * 60_000
const durationOf = durationUpTo(TOTALS_RETENTION_MS / DAY_MS)

const COUNTED = [
  'created',
  'approved',
  'declined',
  'reported',
  'expired',
  'stopped',
  'approved_share',
  'median_seconds',
] as const
const LEGEND = [
  'A request counts as created when it is created, and as everything else when it ends.',
  'approved: by the phone. declined: by the user. reported: declined as not expected.',
  'expired: ended by its time. stopped: by the backend, the operator, or failed checks.',
  'median_seconds: from creation to approval, estimated.',
]

/** `bonded stats`: how many requests were created, and how they ended. */
export function statsCommand(): Command {
  return new Command('stats')
    .description('Count requests and how they ended, by hour, day, or workflow, without user data')
    .addArgument(optionalTenantArgument())
    .option('--workflow <workflow>', 'Only of workflows with this name')
    .addOption(
      new Option('--since <time>', 'From this hour on: 24h, 30d, 400d, or a time in UTC')
        .argParser(sinceOf)
        .default((now: number) => now - DAY_MS, '24h'),
    )
    .addOption(
      new Option('--by <group>', 'A line for each hour, day of UTC, or tenant and workflow')
        .choices(TOTALS_GROUPINGS)
        .default('hour'),
    )
    .addOption(limitOption())
    .action(async (tenantId: TenantId | undefined, options: StatsOptions) => {
      const { workflow, since, by, limit } = options
      const { rows, sum, asOf } = await withService(options, (service) =>
        reportTotals(service, { tenantId, workflow, since: since(service.clock.now()), by, limit }),
      )
      const documents = rows.map(describe)
      const names = by === 'workflow' ? (['tenant_id', 'workflow'] as const) : (['from'] as const)
      const all = { ...describe({ ...sum, ...ALL }), [names[0]]: 'total' }
      print(options, { as_of: isoTime(asOf), rows: documents, total: counts(sum) }, [
        ...table([...names, ...COUNTED], [...documents, all], 'No requests.'),
        '',
        ...LEGEND,
      ])
    })
}

const ALL = { from: null, tenantId: null, workflow: null }

function describe({ from, tenantId, workflow, ...totals }: TotalsRow) {
  return { from: isoTime(from), tenant_id: tenantId, workflow, ...counts(totals) }
}

function counts({ stepUps, browserProofs, latencyMs, latencies, ...totals }: Totals) {
  const ended = endedOf(totals)
  const median = medianLatencyS(latencies)
  return {
    ...totals,
    step_ups: stepUps,
    browser_proofs: browserProofs,
    approved_share: ended === 0 ? null : `${Math.round((100 * totals.approved) / ended)} %`,
    median_seconds: median === undefined || median === Infinity ? null : Math.round(median),
    latency_ms: latencyMs,
    latencies,
  }
}

function sinceOf(text: string): StatsOptions['since'] {
  const instant = parseInstant(text)
  if (instant !== undefined) return () => instant
  const ms = durationOf(text)
  return (now) => now - ms
}
