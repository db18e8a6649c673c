import { setTimeout as pause } from 'node:timers/promises'
import { type Journeys, type JourneyTask, type Kind, KINDS } from './overload/journeys-process.ts'
import { Nodes } from './overload/nodes.ts'
import { Child, percentile } from './process.ts'

/**
 * Offers the service three times the journeys that it can carry, from one tenant, beside a second
 * tenant that needs a twentieth of it. Prints per kind of call what was offered, what succeeded
 * after the clients' own retries, how fast rejections are, and how memory develops. Exits with 1
 * when the service misses a target. `--nodes 2` runs two nodes on PostgreSQL instead of one on
 * SQLite. `--json` prints one document.
 */
const SECONDS = Number(process.env.BENCH_OVERLOAD_SECONDS ?? 60)
const FACTOR = Number(process.env.BENCH_OVERLOAD_FACTOR ?? 3)
const NODES = Number(/ --nodes (\d+)/.exec(process.argv.join(' '))?.[1] ?? 1)
const CALLERS = 32
const WARM_UP_MS = 5_000
const CAPACITY_MS = 5_000
/** More than journeys are ever under way in a process. */
const PHONES = 3_000
const QUIET_SHARE = 0.05
const TARGETS = { complete: 0.999, attest: 0.99, shedMs: 20, growthMb: 20 }

const nodes = await Nodes.start(NODES)
const [flood, quiet] = nodes.tenants.map((keys) => {
  const child = new Child('overload/journeys-process.ts')
  const ask = (given: Pick<JourneyTask, 'step'> & Partial<JourneyTask>) =>
    child.ask<Journeys>({
      ports: nodes.ports,
      ...keys,
      phones: PHONES,
      callers: CALLERS,
      perSecond: 0,
      forMs: 0,
      ...given,
    } satisfies JourneyTask)
  return { child, ask }
}) as [Side, Side]
interface Side {
  readonly child: Child
  readonly ask: (task: Pick<JourneyTask, 'step'> & Partial<JourneyTask>) => Promise<Journeys>
}

await Promise.all([flood.ask({ step: 'enrol' }), quiet.ask({ step: 'enrol', phones: 600 })])
await flood.ask({ step: 'saturate', forMs: WARM_UP_MS })
const { finished } = await flood.ask({ step: 'saturate', forMs: CAPACITY_MS })
const capacity = finished / (CAPACITY_MS / 1_000)

const load = Promise.all([
  flood.ask({ step: 'offer', perSecond: capacity * FACTOR, forMs: SECONDS * 1_000 }),
  pause(1_000).then(() =>
    quiet.ask({
      step: 'offer',
      perSecond: capacity * QUIET_SHARE,
      forMs: (SECONDS - 2) * 1_000,
    }),
  ),
])
const measured = await nodes.during(load)
const [loud, calm] = await load

const rows = KINDS.map((kind) => rowOf(kind, loud))
const quietRows = KINDS.map((kind) => rowOf(kind, calm))
const memory = measured.map(({ residentMb, collectedMb, atEndMb }) => {
  // The heap grows until its first full collection, so the first third says nothing.
  const settled = residentMb.slice(Math.floor(residentMb.length / 3))
  return {
    first: settled[0] ?? 0,
    last: settled.at(-1) ?? 0,
    peak: Math.max(...residentMb),
    growthMb: slopeOf(settled) * settled.length,
    collectedMb,
    atEndMb,
  }
})
const rate = (kind: Kind) => rows.find((row) => row.kind === kind)?.success ?? 0
const clientShedMs = KINDS.flatMap((kind) => loud.tallies[kind].shedMs)
const serverShedMs = measured.flatMap(({ shedMs }) => shedMs)
const shedP99 = percentile(serverShedMs, 0.99)
const growthMb = Math.max(...memory.map((node) => node.growthMb))
const missed = [
  ...(rate('complete') >= TARGETS.complete ? [] : ['completions below 99.9 %']),
  ...(rate('attest') >= TARGETS.attest ? [] : ['attestations below 99 %']),
  ...(shedP99 <= TARGETS.shedMs ? [] : [`p99 of rejections above ${TARGETS.shedMs} ms`]),
  ...(growthMb <= TARGETS.growthMb ? [] : [`memory grew by ${growthMb.toFixed(0)} MB`]),
]
const figures = {
  nodes: NODES,
  seconds: SECONDS,
  factor: FACTOR,
  capacity_per_second: capacity,
  finished_per_second: (loud.finished + calm.finished) / SECONDS,
  flood: rows,
  quiet: quietRows,
  shed_ms: { server: percentilesOf(serverShedMs), client: percentilesOf(clientShedMs) },
  memory_mb: memory,
  missed,
}
if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
else print()
for (const { child } of [flood, quiet]) child[Symbol.dispose]()
await nodes[Symbol.asyncDispose]()
process.exit(missed.length === 0 ? 0 : 1)

function percentilesOf(ms: readonly number[]) {
  return {
    count: ms.length,
    p50: percentile(ms, 0.5),
    p95: percentile(ms, 0.95),
    p99: percentile(ms, 0.99),
    max: ms.reduce((most, one) => Math.max(most, one), 0),
  }
}

function rowOf(kind: Kind, { tallies }: Journeys) {
  const { offered, succeeded, shed, broken, shedMs, admittedMs } = tallies[kind]
  return {
    kind,
    offered,
    succeeded,
    success: offered === 0 ? 1 : succeeded / offered,
    shed,
    broken,
    shed_p50_ms: percentile(shedMs, 0.5),
    shed_p99_ms: percentile(shedMs, 0.99),
    admitted_p50_ms: percentile(admittedMs, 0.5),
    admitted_p99_ms: percentile(admittedMs, 0.99),
  }
}

function print(): void {
  console.log(
    `capacity ${capacity.toFixed(0)} journeys/s; offered ${FACTOR}× for ${SECONDS} s; ` +
      `finished ${figures.finished_per_second.toFixed(0)}/s`,
  )
  for (const [name, of] of [
    ['flooding tenant', rows],
    ['quiet tenant', quietRows],
  ] as const) {
    console.log(
      `\n${name.padEnd(16)}offered  succeeded       %     shed  broken  shed p50/p99 ms  admitted p50/p99 ms`,
    )
    for (const row of of)
      console.log(
        [
          row.kind.padEnd(14),
          String(row.offered).padStart(9),
          String(row.succeeded).padStart(10),
          (row.success * 100).toFixed(2).padStart(8),
          String(row.shed).padStart(8),
          String(row.broken).padStart(7),
          `${row.shed_p50_ms.toFixed(1)} / ${row.shed_p99_ms.toFixed(1)}`.padStart(17),
          `${row.admitted_p50_ms.toFixed(1)} / ${row.admitted_p99_ms.toFixed(1)}`.padStart(21),
        ].join(''),
      )
  }
  for (const [where, { count, p50, p95, p99, max }] of Object.entries(figures.shed_ms))
    console.log(
      `\n${count} rejections by the ${where}'s clock: p50 ${p50.toFixed(1)}, ` +
        `p95 ${p95.toFixed(1)}, p99 ${p99.toFixed(1)}, at most ${max.toFixed(1)} ms`,
    )
  for (const [
    node,
    { first, last, peak, growthMb: growth, collectedMb, atEndMb },
  ] of memory.entries())
    console.log(
      `\nnode ${node + 1}: memory ${first.toFixed(0)} to ${last.toFixed(0)} MB, ` +
        `peak ${peak.toFixed(0)} MB; growth over the last two thirds ${growth.toFixed(1)} MB\n` +
        `heap after full collections: ${collectedMb.map((mb) => mb.toFixed(0)).join(', ')} MB\n` +
        `at the end: ${Object.entries(atEndMb)
          .map(([part, mb]) => `${part} ${mb.toFixed(0)}`)
          .join(', ')} MB`,
    )
  console.log(missed.length === 0 ? 'targets met' : `missed: ${missed.join(', ')}`)
}

/** Least squares: the growth from one sample to the next. */
function slopeOf(samples: readonly number[]): number {
  const middle = (samples.length - 1) / 2
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / samples.length
  let above = 0
  let below = 0
  for (const [index, sample] of samples.entries()) {
    above += (index - middle) * (sample - mean)
    below += (index - middle) ** 2
  }
  return below === 0 ? 0 : above / below
}
