import { RESERVED_CONNECTIONS } from './bench-service.ts'
import { connectionsThatFilesAllow } from '../packages/server/src/open-files.ts'
import { printFanOut, measureFanOut } from './channel/fan-out.ts'
import { type Idle, measureIdle } from './channel/idle.ts'
import { Side } from './channel/side.ts'
import { median, percentile, tenths } from './process.ts'

/**
 * Measures what an idle channel costs the server, and how long the frame of a bond takes when a
 * thousand sessions bond within a second. Bare ws with frames of the same sizes runs in the same
 * benchmark. The sessions exist before the channels, so their memory is not counted. The server
 * collects garbage before each reading. `--json` prints one document.
 *
 * `--nodes 2` measures instead how long a frame takes to a channel of another node on PostgreSQL.
 */
const CHANNELS = Number(process.env.BENCH_CHANNELS ?? 20_000)
const BONDS = 1_000
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
/** The memory of thousands of channels differs little between two processes. */
const IDLE_ROUNDS = Number(process.env.BENCH_IDLE_ROUNDS ?? 1)
const BYTES_A_KIB = 1_024
/** Those that the service reserves for backends, and those of the load processes. */
const OTHER_CONNECTIONS = RESERVED_CONNECTIONS + 100
const asJson = process.argv.includes('--json')

type Bonded = Awaited<ReturnType<Side['bondRound']>>

interface Both<T> {
  readonly service: T
  readonly bare: T
}

if (process.argv.includes('--nodes')) {
  const figures = await measureFanOut(Number(process.argv[process.argv.indexOf('--nodes') + 1]))
  if (asJson) console.log(JSON.stringify(figures))
  else printFanOut(figures)
} else await measureOneProcess()

async function measureOneProcess(): Promise<void> {
  const connections = connectionsThatFilesAllow() ?? Number.POSITIVE_INFINITY
  const channels = Math.min(CHANNELS, connections - OTHER_CONNECTIONS)
  const { sizes, bonds } = await bondRounds()
  const idle: Both<Idle>[] = []
  for (let round = 0; round < IDLE_ROUNDS; round++) {
    const service = await measureIdle({ channels })
    const bare = await measureIdle({ channels, sizes, heartbeatBytes: service.frameBytes })
    idle.push({ service, bare })
  }
  const figures = {
    channels,
    bonds_in_a_second: BONDS,
    rounds: ROUNDS,
    idle_rounds: IDLE_ROUNDS,
    sizes,
    service: { ...idleFigures(idle, 'service'), ...bondFigures(bonds, 'service') },
    bare: { ...idleFigures(idle, 'bare'), ...bondFigures(bonds, 'bare') },
  }
  if (asJson) console.log(JSON.stringify({ ...figures, all: { idle } }))
  else print(figures)
}

async function bondRounds() {
  const bonds: Both<Bonded>[] = []
  using service = new Side('service')
  // The first round warms up and reports the sizes of the messages.
  const { sizes } = await service.bondRound(BONDS)
  using bare = new Side('bare', { sizes })
  await bare.bondRound(BONDS)
  for (let round = 0; round < ROUNDS; round++)
    bonds.push({ service: await service.bondRound(BONDS), bare: await bare.bondRound(BONDS) })
  return { sizes, bonds }
}

function idleFigures(rounds: readonly Both<Idle>[], of: keyof Both<Idle>) {
  const figure = (name: keyof Idle) => median(rounds.map((round) => round[of][name]))
  return {
    idle_rss_kib: tenths(figure('rssBytes') / BYTES_A_KIB),
    idle_heap_kib: tenths(figure('heapBytes') / BYTES_A_KIB),
    idle_frames_per_second: Math.round(figure('framesPerSecond')),
    idle_frame_bytes: Math.round(figure('frameBytes')),
    idle_cpu_percent_of_a_core: tenths(figure('cpuShare') * 100),
  }
}

function bondFigures(rounds: readonly Both<Bonded>[], of: keyof Both<Bonded>) {
  const wait = (figure: (bonded: Bonded) => readonly number[]) => ({
    p50: tenths(median(rounds.map((round) => percentile(figure(round[of]), 0.5)))),
    p99: tenths(median(rounds.map((round) => percentile(figure(round[of]), 0.99)))),
    max: tenths(median(rounds.map((round) => Math.max(...figure(round[of]))))),
  })
  return {
    bonds_cpu_ms: Math.round(median(rounds.map((round) => round[of].cpuMicros)) / 1_000),
    sent_to_frame_ms: wait(({ frameMs }) => frameMs),
    reply_to_frame_ms: wait(({ frameMs, replyMs }) =>
      frameMs.map((frame, at) => frame - (replyMs[at] ?? Number.NaN)),
    ),
  }
}

type Figures = ReturnType<typeof idleFigures> & ReturnType<typeof bondFigures>

function print(figures: Both<Figures> & { readonly channels: number }): void {
  const line = (name: string, [service, bare, ratio]: readonly string[]) =>
    console.log(
      name.padEnd(46) +
        [service, bare, ratio]
          .map((text) => (text ?? '').padStart(18))
          .join('')
          .trimEnd(),
    )
  const row = (name: string, of: (side: Figures) => string | number) =>
    line(name, [String(of(figures.service)), String(of(figures.bare))])
  const compared = (name: string, of: (side: Figures) => number) => {
    const [service, bare] = [of(figures.service), of(figures.bare)]
    line(name, [String(service), String(bare), `${(service / bare).toFixed(2)}×`])
  }
  const three = ({ p50, p99, max }: { p50: number; p99: number; max: number }) =>
    `${p50} / ${p99} / ${max}`
  line(`${figures.channels} idle channels`, ['service', 'bare ws', 'ratio'])
  if (figures.channels < CHANNELS)
    console.log(`  (not ${CHANNELS}: the limit of open files allows no more)`)
  compared('a channel, resident, KiB', ({ idle_rss_kib }) => idle_rss_kib)
  compared('a channel, heap, KiB', ({ idle_heap_kib }) => idle_heap_kib)
  row('frames a second', ({ idle_frames_per_second }) => idle_frames_per_second)
  compared('CPU time of them, % of a core', (side) => side.idle_cpu_percent_of_a_core)
  line(`${BONDS} bonds in a second, ms`, ['50 % / 99 % / max'])
  row('  CPU time of the server', ({ bonds_cpu_ms }) => bonds_cpu_ms)
  row('  sent to frame', ({ sent_to_frame_ms }) => three(sent_to_frame_ms))
  row('  reply to frame (below 0: frame first)', ({ reply_to_frame_ms }) =>
    three(reply_to_frame_ms),
  )
  console.log('  (bare ws verifies and stores nothing)')
}
