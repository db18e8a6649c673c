import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import type { Latency } from './load-process.ts'
import { Child, median, type Ready } from './process.ts'
import { allCalls, FlowsByCall, threeCalls } from './three-calls.ts'
import { CALLERS, type Round, Variant, type Work } from './variant.ts'

/**
 * Measures the server CPU microseconds of a full lifecycle (create, channel open, claim, evidence,
 * attest, frame received, get, complete; durable), and of the floor in the same run. A pair is one
 * fresh process of each, because two processes of one commit differ by up to 10 %. The same pairs
 * measure the time of every call at 60 % load and at saturation, and the three core calls against
 * oidc-provider's CIBA flow. `--json` prints one document.
 */
const PAIRS = Number(process.env.BENCH_PAIRS ?? 4)
const LIFECYCLES = Number(process.env.BENCH_LIFECYCLES ?? 300)
/** Short rounds alternate, so that a temporary slowdown of the machine affects both. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 8)
const OPEN_LOOP_PER_SECOND = Number(process.env.BENCH_RATE ?? 300)
/** The usual load of a machine that has room for a peak. */
const PARTIAL_LOAD = 0.6
/** V8 keeps compiling for thousands of flows. */
const WARM_UP_FLOWS = 20

const CASES: Readonly<Record<string, Work>> = {
  [`saturated by ${CALLERS} callers`]: { lifecycles: LIFECYCLES },
  [`${OPEN_LOOP_PER_SECOND} a second`]: { lifecycles: LIFECYCLES, rate: OPEN_LOOP_PER_SECOND },
  [`saturated, without motion`]: { lifecycles: LIFECYCLES, short: true },
  [`${OPEN_LOOP_PER_SECOND} a second, without motion`]: {
    lifecycles: LIFECYCLES,
    rate: OPEN_LOOP_PER_SECOND,
    short: true,
  },
}

const saturated = Object.keys(CASES)[0] ?? ''

interface Pair {
  /** By case. */
  readonly service: Readonly<Record<string, readonly Round[]>>
  readonly floor: Readonly<Record<string, readonly Round[]>>
  readonly atPartialLoad: Round
  readonly bondMicros: number
  readonly cibaMicros: number
}

const pairs: Pair[] = []
for (let pair = 0; pair < PAIRS; pair++) pairs.push(await measurePair())

const cases = Object.keys(CASES).map((name) => ({
  case: name,
  service_us: middle(({ service }) => microsOf(service[name])),
  floor_us: middle(({ floor }) => microsOf(floor[name])),
  ratio: hundredths(median(pairs.map((pair) => ratioOf(pair, name)))),
  ratios: pairs.map((pair) => hundredths(ratioOf(pair, name))),
}))
const figures = {
  callers: CALLERS,
  pairs: PAIRS,
  rounds: ROUNDS,
  lifecycles_a_round: LIFECYCLES,
  cases,
  three_calls: {
    service_us: middle(({ bondMicros }) => bondMicros),
    ciba_us: middle(({ cibaMicros }) => cibaMicros),
    ratio: hundredths(median(pairs.map(({ bondMicros, cibaMicros }) => bondMicros / cibaMicros))),
  },
  milliseconds: {
    at_60_percent: latencies(pairs.map(({ atPartialLoad }) => atPartialLoad)),
    saturated: latencies(pairs.flatMap(({ service }) => service[saturated] ?? [])),
  },
}
if (process.argv.includes('--json')) console.log(JSON.stringify({ ...figures, all: pairs }))
else print()

async function measurePair(): Promise<Pair> {
  const { variant, lesson } = await Variant.service()
  using service = variant
  using floor = await Variant.floor(lesson)
  const rounds: { service: Record<string, Round[]>; floor: Record<string, Round[]> } = {
    service: {},
    floor: {},
  }
  for (const [name, work] of Object.entries(CASES)) {
    // The first round registers further phones and compiles what the case needs.
    for (let round = -1; round < ROUNDS; round++)
      for (const [side, server] of Object.entries({ service, floor })) {
        const measured = await server.round(work)
        if (round >= 0) (rounds[side as 'service' | 'floor'][name] ??= []).push(measured)
      }
  }
  const most = median((rounds.service[saturated] ?? []).map((round) => round.lifecyclesPerSecond))
  const atPartialLoad = await service.round({
    lifecycles: LIFECYCLES * ROUNDS,
    rate: PARTIAL_LOAD * most,
  })
  return { ...rounds, atPartialLoad, ...(await measureThreeCalls(service)) }
}

async function measureThreeCalls({
  server,
  ready,
}: Variant): Promise<Pick<Pair, 'bondMicros' | 'cibaMicros'>> {
  // Both servers get the same flags, because a larger young generation favors the one that leaves
  // more garbage.
  using peer = new Child('oidc-provider-process.ts', RUNTIME_FLAGS)
  const peerReady = await peer.next<Ready>()
  using bonds = new FlowsByCall({ server, ready, load: 'bond-load-process.ts' })
  using flows = new FlowsByCall({ server: peer, ready: peerReady, load: 'ciba-load-process.ts' })
  const bondMicros: number[] = []
  const cibaMicros: number[] = []
  for (let round = -WARM_UP_FLOWS; round < ROUNDS; round++) {
    const bond = threeCalls(await bonds.bond())
    const ciba = allCalls(await flows.ciba('client_secret_basic'))
    if (round < 0) continue
    bondMicros.push(bond)
    cibaMicros.push(ciba)
  }
  return { bondMicros: median(bondMicros), cibaMicros: median(cibaMicros) }
}

function microsOf(rounds: readonly Round[] = []): number {
  return median(rounds.map(({ cpuMicros }) => cpuMicros))
}

function ratioOf({ service, floor }: Pair, name: string): number {
  return microsOf(service[name]) / microsOf(floor[name])
}

function middle(figure: (pair: Pair) => number): number {
  return Math.round(median(pairs.map(figure)))
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100
}

/** The median over the rounds of each call's p50 and p99. */
function latencies(rounds: readonly Round[]): Readonly<Record<string, Latency>> {
  const calls = Object.keys(rounds[0]?.latencies ?? {})
  const of = (call: string, figure: keyof Latency) =>
    hundredths(median(rounds.map((round) => round.latencies[call]?.[figure] ?? Number.NaN)))
  return Object.fromEntries(
    calls.map((call) => [call, { p50: of(call, 'p50'), p99: of(call, 'p99') }]),
  )
}

function print(): void {
  const { three_calls: three, milliseconds } = figures
  console.log(
    `server CPU in µs, medians of ${PAIRS} pairs of fresh processes, ${ROUNDS} rounds of ${LIFECYCLES} lifecycles each`,
  )
  for (const { case: name, service_us, floor_us, ratio, ratios } of cases)
    console.log(
      `  ${name.padEnd(32)} service ${service_us}, floor ${floor_us}: ${ratio.toFixed(2)}   (pairs: ${ratios.join(', ')})`,
    )
  console.log('  floor: bare node:http + ws, two P-256 verifications, five commits, five frames')
  console.log(
    `  create + attest + get, durable: ${three.service_us}; oidc-provider's CIBA flow in memory: ${three.ciba_us}; ${three.ratio.toFixed(2)}`,
  )
  console.log('p50 / p99 of each call in ms')
  for (const [load, calls] of Object.entries(milliseconds))
    console.log(
      `  ${load.padEnd(14)} ${Object.entries(calls)
        .map(([call, { p50, p99 }]) => `${call} ${p50} / ${p99}`)
        .join(', ')}`,
    )
}
