import { setTimeout as wait } from 'node:timers/promises'
import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import type { AttackTask } from './flood/attack-process.ts'
import type { Tally } from './flood/attacker.ts'
import { type AttackName, ATTACKS } from './flood/attacks.ts'
import type { BackendTask, Creates } from './flood/backend-process.ts'
import { Child, type Ready, sharedNowMs } from './process.ts'
import { PeakMemory } from './flood/peak-memory.ts'
import { measureShedding, type Shedding } from './flood/shed.ts'

/**
 * Measures how long a backend's creates take while anonymous clients flood the service, compared
 * with the same creates without a flood, and how much memory the service uses. Service, backend and
 * attacker run in their own processes, and each flood has a new service. The flood of junk bodies
 * also runs against a bare Node server, because accepting its connections is most of what it costs.
 * Exits with 1 when the service misses a target. Finally it measures what a flood that names a
 * tenant by public ids costs this tenant.
 *
 * `--json` prints one document. `--only "idle sockets"` runs one flood, and `--only "public ids"`
 * the last part.
 */
const WARM_UP_MS = 3_000
const IDLE_MS = Number(process.env.BENCH_IDLE_MS ?? 8_000)
const FLOOD_MS = Number(process.env.BENCH_FLOOD_MS ?? 15_000)
const CREATE_EVERY_MS = 10
const MAX_RATIO = 5
const MAX_GROWTH_MB = 150
const BYTES_A_MB = 1e6
/** The flood whose cost is the operating system's and Node's, and not the service's. */
const WITH_BARE: AttackName = 'junk bodies'
const PUBLIC_IDS = 'public ids'
const SERVERS = { service: 'flood/service-process.ts', bare: 'flood/bare-process.ts' } as const

interface Outcome {
  readonly attack: AttackName
  readonly server: keyof typeof SERVERS
  readonly alive: boolean
  readonly idle: Percentiles
  readonly flood: Percentiles
  readonly ratio: number
  readonly failed: number
  readonly idle_mb: number
  readonly peak_mb: number
  readonly tally: Tally
  readonly missed: readonly string[]
}
interface Percentiles {
  readonly p50_ms: number
  readonly p99_ms: number
}

const only = process.argv[process.argv.indexOf('--only') + 1]
const names = (Object.keys(ATTACKS) as AttackName[]).filter(
  (name) => !process.argv.includes('--only') || name === only,
)
const outcomes: Outcome[] = []
for (const name of names) {
  outcomes.push(await underAttack(name, 'service'))
  if (name === WITH_BARE) outcomes.push(await underAttack(name, 'bare'))
}
const isWhole = !process.argv.includes('--only')
const shedding = isWhole || only === PUBLIC_IDS ? await measureShedding() : []
if (process.argv.includes('--json')) console.log(JSON.stringify({ floods: outcomes, shedding }))
else {
  print(outcomes)
  printShedding(shedding)
}
// The children end with this process.
process.exit([...outcomes, ...shedding].every(({ missed }) => missed.length === 0) ? 0 : 1)

async function underAttack(attack: AttackName, server: keyof typeof SERVERS): Promise<Outcome> {
  using service = new Child(SERVERS[server], RUNTIME_FLAGS)
  using backend = new Child('flood/backend-process.ts')
  using attacker = new Child('flood/attack-process.ts')
  const ready = await service.next<Ready>()
  let alive = true
  void service.ended.then(() => (alive = false))
  const ask = (task: BackendTask) => backend.ask<Creates>(task)

  await ask({ step: 'begin', service: ready, everyMs: CREATE_EVERY_MS })
  await wait(WARM_UP_MS)
  using memory = new PeakMemory(service.pid)
  const window = async (work: Promise<Tally | undefined>) => {
    const fromMs = sharedNowMs()
    const tally = await work
    const creates = await ask({ step: 'report', fromMs, untilMs: sharedNowMs() })
    return { tally, creates, peakBytes: memory.take() }
  }
  const idle = await window(wait(IDLE_MS, undefined))
  const task: AttackTask = { attack, service: ready, forMs: FLOOD_MS }
  const flood = await window(attacker.ask<Tally>(task))
  return judge({
    attack,
    server,
    alive,
    idle: percentilesOf(idle.creates),
    flood: percentilesOf(flood.creates),
    failed: flood.creates.failed,
    idle_mb: idle.peakBytes / BYTES_A_MB,
    peak_mb: flood.peakBytes / BYTES_A_MB,
    tally: flood.tally as Tally,
  })
}

function judge(measured: Omit<Outcome, 'ratio' | 'missed'>): Outcome {
  const { server, alive, idle, flood, idle_mb, peak_mb } = measured
  const ratio = flood.p99_ms / idle.p99_ms
  if (server === 'bare') return { ...measured, ratio, missed: [] }
  const missed = [
    ...(alive ? [] : ['the process ended']),
    ...(ratio <= MAX_RATIO ? [] : [`p99 above ${MAX_RATIO}× idle`]),
    ...(peak_mb - idle_mb <= MAX_GROWTH_MB ? [] : [`RSS above idle + ${MAX_GROWTH_MB} MB`]),
  ]
  return { ...measured, ratio, missed }
}

/** A create that failed counts as infinitely long. */
function percentilesOf({ ms, failed }: Creates): Percentiles {
  const sorted = [...ms.toSorted((a, b) => a - b), ...Array<number>(failed).fill(Infinity)]
  const quantile = (part: number) => sorted[Math.ceil(part * sorted.length) - 1] ?? Infinity
  return { p50_ms: quantile(0.5), p99_ms: quantile(0.99) }
}

function printShedding(rows: readonly Shedding[]): void {
  console.table(
    Object.fromEntries(
      rows.map(({ credential, responses, success, missed }) => [
        `credential of the flood: ${credential}`,
        {
          ...Object.fromEntries(
            Object.entries(success).map(([kind, part]) => [kind, `${(part * 100).toFixed(1)} %`]),
          ),
          responses,
          targets: missed.length === 0 ? 'met' : `missed: ${missed.join(', ')}`,
        },
      ]),
    ),
  )
}

function print(rows: readonly Outcome[]): void {
  const ms = ({ p50_ms, p99_ms }: Percentiles) => `${p50_ms.toFixed(1)} / ${p99_ms.toFixed(1)}`
  console.table(
    rows.map(({ attack, server, alive, idle, flood, ratio, failed, tally, ...row }) => ({
      flood: server === 'bare' ? `${attack}, bare Node` : attack,
      'idle p50 / p99 ms': ms(idle),
      'flood p50 / p99 ms': ms(flood),
      ratio: `${ratio.toFixed(1)}×`,
      failed,
      'RSS MB': `${row.idle_mb.toFixed(0)} → ${row.peak_mb.toFixed(0)}`,
      opened: tally.opened,
      closed: tally.closed,
      held: tally.held,
      responses: Object.entries(tally.statuses)
        .map(([status, count]) => `${status}: ${count}`)
        .join(' '),
      alive: alive ? 'yes' : 'no',
      targets: server === 'bare' ? 'comparison' : row.missed.join(', ') || 'met',
    })),
  )
}
