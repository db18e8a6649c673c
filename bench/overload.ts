import { setTimeout as pause } from 'node:timers/promises'
import { measureCapacity } from './overload/capacity.ts'
import { type Kind, KINDS, type Tally } from './overload/client.ts'
import { percentilesOf } from './overload/durations.ts'
import type { Journeys, JourneyTask } from './overload/journeys-process.ts'
import { Nodes } from './overload/nodes.ts'
import { Child, percentile } from './process.ts'

/**
 * Offers the service three times the journeys that it can carry, from one tenant, beside a second
 * tenant that needs a twentieth of it. Prints per kind of call what was offered, what succeeded at
 * the first attempt and after the clients' own retries, why calls failed, how fast rejections are,
 * and how memory develops. Exits with 1 when the service misses a target. `--nodes 2` runs two
 * nodes on PostgreSQL instead of one on SQLite. `--json` prints one document.
 */
const SECONDS = Number(process.env.BENCH_OVERLOAD_SECONDS ?? 60)
const FACTOR = Number(process.env.BENCH_OVERLOAD_FACTOR ?? 3)
/** Journeys a second, in place of three times the measured capacity: to compare two versions. */
const FIXED = Number(process.env.BENCH_OVERLOAD_PER_SECOND ?? 0)
/** Warms up a fixed load, and need not stand still. */
const FIXED_WINDOWS = 3
const NODES = Number(/ --nodes (\d+)/.exec(process.argv.join(' '))?.[1] ?? 1)
/** Enough to keep two nodes busy while their calls wait for the database. */
const CALLERS = 128
/** More than journeys are ever under way in a process. */
const PHONES = 3_000
const TRIAL_MS = 12_000
/** Longer than a service remembers an overload. */
const REST_MS = 11_000
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
const { perSecond: saturated, ...warmUp } = await measureCapacity(
  async (forMs) => (await flood.ask({ step: 'saturate', forMs })).finished,
  FIXED > 0 ? FIXED_WINDOWS : undefined,
)

// Callers that wait for each response leave the nodes idle in between, so a short overload shows
// whether they can finish more. Then the nodes rest, so that the run begins with the overload.
const trial = await flood.ask({
  step: 'offer',
  perSecond: FIXED > 0 ? FIXED : saturated * FACTOR,
  forMs: TRIAL_MS,
})
const capacity =
  FIXED > 0 ? FIXED / FACTOR : Math.max(saturated, trial.finished / (TRIAL_MS / 1_000))
await pause(REST_MS)

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
  // The heap grows until its next full collection, so only peaks can be compared.
  const third = Math.floor(residentMb.length / 3)
  const peakOf = (from: number, to?: number) => Math.max(...residentMb.slice(from, to))
  return {
    start: residentMb[0] ?? 0,
    middle: residentMb[Math.floor(residentMb.length / 2)] ?? 0,
    end: residentMb.at(-1) ?? 0,
    peak: Math.max(...residentMb),
    growthMb: peakOf(2 * third) - peakOf(third, 2 * third),
    collectedMb,
    atEndMb,
  }
})
const all = KINDS.map((kind) => rowOf(kind, loud, calm))
const rate = (kind: Kind) => all.find((row) => row.kind === kind)?.success ?? 0
const clientShedMs = KINDS.flatMap((kind) => loud.tallies[kind].shedMs)
const serverShed = percentilesOf(measured.flatMap(({ shedMs }) => shedMs))
const clientShed = percentilesOf(clientShedMs.map((ms) => [ms, 1]))
const growthMb = Math.max(...memory.map((node) => node.growthMb))
const missed = [
  ...(rate('complete') >= TARGETS.complete ? [] : ['completions below 99.9 %']),
  ...(rate('attest') >= TARGETS.attest ? [] : ['attestations below 99 %']),
  ...(serverShed.p50 <= TARGETS.shedMs ? [] : [`p50 of rejections above ${TARGETS.shedMs} ms`]),
  ...(growthMb <= TARGETS.growthMb ? [] : [`peak of memory grew by ${growthMb.toFixed(0)} MB`]),
]
const figures = {
  nodes: NODES,
  seconds: SECONDS,
  factor: FACTOR,
  capacity: { per_second: capacity, ...warmUp },
  finished_per_second: (loud.finished + calm.finished) / SECONDS,
  offered_per_finished:
    (all.find(({ kind }) => kind === 'create')?.offered ?? 0) / (loud.finished + calm.finished),
  flood: rows,
  quiet: quietRows,
  shed_ms: { server: serverShed, client: clientShed },
  memory_mb: memory,
  missed,
}
if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
else print()
for (const { child } of [flood, quiet]) child[Symbol.dispose]()
await nodes[Symbol.asyncDispose]()
process.exit(missed.length === 0 ? 0 : 1)

function rowOf(kind: Kind, ...sides: readonly Journeys[]) {
  const tallies = sides.map((side) => side.tallies[kind])
  const sum = (of: (tally: Tally) => number) =>
    tallies.reduce((total, tally) => total + of(tally), 0)
  const offered = sum((tally) => tally.offered)
  const succeeded = sum((tally) => tally.succeeded)
  const part = (calls: number) => (offered === 0 ? 1 : calls / offered)
  const shedMs = tallies.flatMap((tally) => tally.shedMs)
  const admittedMs = tallies.flatMap((tally) => tally.admittedMs)
  return {
    kind,
    offered,
    succeeded,
    success: part(succeeded),
    success_at_first: part(sum((tally) => tally.succeededAtFirst)),
    shed: sum((tally) => tally.shed),
    failed_attempts: tallies.map((tally) => tally.failedAttempts),
    failed_calls: tallies.map((tally) => tally.failedCalls),
    shed_p50_ms: percentile(shedMs, 0.5),
    shed_p99_ms: percentile(shedMs, 0.99),
    admitted_p50_ms: percentile(admittedMs, 0.5),
    admitted_p99_ms: percentile(admittedMs, 0.99),
  }
}

function print(): void {
  console.log(
    `capacity ${capacity.toFixed(0)} journeys/s; offered ${FACTOR}× for ${SECONDS} s, ` +
      `${figures.offered_per_finished.toFixed(1)}× of what it finished; ` +
      `finished ${figures.finished_per_second.toFixed(0)}/s; warm-up ${warmUp.windows} windows, ` +
      `${warmUp.isStill ? 'still' : 'not still'}; generators ${(loud.utilization * 100).toFixed(0)} % ` +
      `and ${(calm.utilization * 100).toFixed(0)} % busy`,
  )
  for (const [name, of] of [
    ['flooding tenant', rows],
    ['quiet tenant', quietRows],
  ] as const) {
    console.log(
      `\n${name.padEnd(16)}offered  succeeded       %     at first     shed  shed p50/p99 ms  admitted p50/p99 ms`,
    )
    for (const row of of)
      console.log(
        [
          row.kind.padEnd(14),
          String(row.offered).padStart(9),
          String(row.succeeded).padStart(10),
          (row.success * 100).toFixed(2).padStart(8),
          (row.success_at_first * 100).toFixed(2).padStart(10),
          String(row.shed).padStart(9),
          `${row.shed_p50_ms.toFixed(1)} / ${row.shed_p99_ms.toFixed(1)}`.padStart(17),
          `${row.admitted_p50_ms.toFixed(1)} / ${row.admitted_p99_ms.toFixed(1)}`.padStart(21),
        ].join(''),
      )
  }
  for (const { kind, failed_attempts, failed_calls } of all)
    for (const [what, counts] of [
      ['failed attempts', failed_attempts],
      ['failed for good', failed_calls],
    ] as const)
      if (counts.some((of) => Object.keys(of).length > 0))
        console.log(
          `\n${kind}, ${what}: ${counts.map((of) => JSON.stringify(of)).join(', quiet ')}`,
        )
  for (const [where, { count, p50, p95, p99, max }] of Object.entries(figures.shed_ms))
    console.log(
      `\n${count} rejections by the ${where}'s clock: p50 ${p50.toFixed(1)}, ` +
        `p95 ${p95.toFixed(1)}, p99 ${p99.toFixed(1)}, at most ${max.toFixed(1)} ms`,
    )
  for (const [
    node,
    { start, middle, end, peak, growthMb: growth, collectedMb, atEndMb },
  ] of memory.entries())
    console.log(
      `\nnode ${node + 1}: memory ${[start, middle, end].map((mb) => mb.toFixed(0)).join(', ')} MB at the start, ` +
        `in the middle, and at the end; peak ${peak.toFixed(0)} MB; last third above the second ${growth.toFixed(1)} MB\n` +
        `heap after full collections: ${collectedMb.map((mb) => mb.toFixed(0)).join(', ')} MB\n` +
        `at the end: ${Object.entries(atEndMb)
          .map(([part, mb]) => `${part} ${mb.toFixed(0)}`)
          .join(', ')} MB`,
    )
  console.log(missed.length === 0 ? 'targets met' : `missed: ${missed.join(', ')}`)
}
