import { setTimeout as pause } from 'node:timers/promises'
import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import type { BenchReady } from './bench-service.ts'
import { PeakMemory } from './flood/peak-memory.ts'
import { type Journeys, type JourneyTask, type Kind, KINDS } from './overload/journeys-process.ts'
import { Child } from './process.ts'

/**
 * Offers the service three times the journeys that it can carry, from one tenant, beside a second
 * tenant that needs a twentieth of it. Prints per kind of call what was offered, what succeeded
 * after the clients' own retries, how fast rejections are, and how memory develops. Exits with 1
 * when the service misses a target. `--json` prints one document.
 */
const SECONDS = Number(process.env.BENCH_OVERLOAD_SECONDS ?? 60)
const FACTOR = Number(process.env.BENCH_OVERLOAD_FACTOR ?? 3)
const CALLERS = 32
const WARM_UP_MS = 5_000
const CAPACITY_MS = 5_000
/** More than journeys are ever under way in a process. */
const PHONES = 1_500
const QUIET_SHARE = 0.05
const SAMPLE_MS = 1_000
const BYTES_A_MB = 1e6
const TARGETS = { complete: 0.999, attest: 0.99, shedMs: 20, growthMb: 20 }

using service = new Child('overload/service-process.ts', RUNTIME_FLAGS)
const { port, tenants } = await service.next<BenchReady>()
const [flood, quiet] = tenants.map((keys) => {
  const child = new Child('overload/journeys-process.ts')
  const ask = (given: Pick<JourneyTask, 'step'> & Partial<JourneyTask>) =>
    child.ask<Journeys>({
      port,
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

await Promise.all([flood.ask({ step: 'enrol' }), quiet.ask({ step: 'enrol', phones: 300 })])
await flood.ask({ step: 'saturate', forMs: WARM_UP_MS })
const { finished } = await flood.ask({ step: 'saturate', forMs: CAPACITY_MS })
const capacity = finished / (CAPACITY_MS / 1_000)

using memory = new PeakMemory(service.pid)
const samplesMb: number[] = []
memory.take()
const sampler = setInterval(() => samplesMb.push(memory.take() / BYTES_A_MB), SAMPLE_MS)
const [loud, calm] = await Promise.all([
  flood.ask({ step: 'offer', perSecond: capacity * FACTOR, forMs: SECONDS * 1_000 }),
  pause(1_000).then(() =>
    quiet.ask({
      step: 'offer',
      perSecond: capacity * QUIET_SHARE,
      forMs: (SECONDS - 2) * 1_000,
    }),
  ),
])
clearInterval(sampler)

const rows = KINDS.map((kind) => rowOf(kind, loud))
const quietRows = KINDS.map((kind) => rowOf(kind, calm))
// The heap grows until its first full collection, so the first third says nothing.
const settled = samplesMb.slice(Math.floor(samplesMb.length / 3))
const growthMb = slopeOf(settled) * settled.length
const rate = (kind: Kind) => rows.find((row) => row.kind === kind)?.success ?? 0
const shedP99 = percentile(
  KINDS.flatMap((kind) => loud.tallies[kind].shedMs),
  0.99,
)
const missed = [
  ...(rate('complete') >= TARGETS.complete ? [] : ['completions below 99.9 %']),
  ...(rate('attest') >= TARGETS.attest ? [] : ['attestations below 99 %']),
  ...(shedP99 <= TARGETS.shedMs ? [] : [`p99 of rejections above ${TARGETS.shedMs} ms`]),
  ...(growthMb <= TARGETS.growthMb ? [] : [`memory grew by ${growthMb.toFixed(0)} MB`]),
]
const figures = {
  seconds: SECONDS,
  factor: FACTOR,
  capacity_per_second: capacity,
  finished_per_second: (loud.finished + calm.finished) / SECONDS,
  flood: rows,
  quiet: quietRows,
  shed_p99_ms: shedP99,
  memory_mb: { first: settled[0], last: settled.at(-1), peak: Math.max(...samplesMb), growthMb },
  missed,
}
if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
else print()
process.exit(missed.length === 0 ? 0 : 1)

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
  const { first = 0, last = 0, peak } = figures.memory_mb
  console.log(
    `\nmemory ${first.toFixed(0)} to ${last.toFixed(0)} MB, peak ${peak.toFixed(0)} MB; ` +
      `slope over the last two thirds ${growthMb.toFixed(1)} MB`,
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

function percentile(of: readonly number[], part: number): number {
  const sorted = of.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
}
