import { type Pair, printReport, reportOf, tooExpensive } from './lifecycle-report.ts'
import { BenchPostgres } from './postgres-nodes.ts'
import { median } from './process.ts'
import { type Round, Variant, type Work } from './variant.ts'

/**
 * Measures the CPU microseconds of a full lifecycle (create, channel open, claim, evidence, attest,
 * frame received, get, complete; durable): of the service on SQLite, of one and of three nodes on
 * PostgreSQL, with those of the database apart, and of the floor in the same run. A pair is one
 * fresh process of each, because two processes of one commit differ by up to 10 %. The same pairs
 * measure the time of every call at 60 % load and at saturation.
 *
 * A run takes three minutes on a quiet machine. `--full` takes half an hour and is for figures to
 * publish: V8 compiles for thousands of lifecycles, so a short warm-up also measures the compiler.
 * `--json` prints one document. The run fails if a saturated lifecycle on SQLite is too expensive.
 */
const DEFAULTS = process.argv.includes('--full')
  ? { pairs: 4, rounds: 8, lifecycles: 300, warmUp: 4_000 }
  : { pairs: 2, rounds: 3, lifecycles: 150, warmUp: 1_000 }
const PAIRS = Number(process.env.BENCH_PAIRS ?? DEFAULTS.pairs)
/** Short rounds alternate, so that a temporary slowdown of the machine affects all variants. */
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? DEFAULTS.rounds)
const LIFECYCLES = Number(process.env.BENCH_LIFECYCLES ?? DEFAULTS.lifecycles)
const WARM_UP = Number(process.env.BENCH_WARM_UP ?? DEFAULTS.warmUp)
const OPEN_LOOP_PER_SECOND = Number(process.env.BENCH_RATE ?? 300)
/** How many nodes share the PostgreSQL database, for each variant; none with an empty list. */
const NODES = (process.env.BENCH_POSTGRES_NODES ?? '1,3').split(',').filter(Boolean).map(Number)
/** The usual load of a machine that has room for a peak. */
const PARTIAL_LOAD = 0.6

const CASES: Readonly<Record<string, Work>> = {
  saturated: { lifecycles: LIFECYCLES },
  [`${OPEN_LOOP_PER_SECOND} a second`]: { lifecycles: LIFECYCLES, rate: OPEN_LOOP_PER_SECOND },
}

const database = NODES.length === 0 ? undefined : await BenchPostgres.start()
const pairs: Pair[] = []
const began = performance.now()
for (let pair = 1; pair <= PAIRS; pair++) {
  pairs.push(await measurePair())
  const minutes = ((performance.now() - began) / 60_000).toFixed(1)
  console.error(`measured pair ${pair} of ${PAIRS} after ${minutes} minutes`)
}
await database?.stop()

const report = reportOf(pairs, { pairs: PAIRS, rounds: ROUNDS, lifecycles: LIFECYCLES })
if (process.argv.includes('--json')) console.log(JSON.stringify({ ...report, all: pairs }))
else printReport(report)
const failure = tooExpensive(report)
if (failure !== undefined) {
  console.error(`FAILED: ${failure}`)
  process.exitCode = 1
}

async function measurePair(): Promise<Pair> {
  const { variant, lesson } = await Variant.service(WARM_UP)
  using service = variant
  using floor = await Variant.floor(lesson, WARM_UP)
  const sides = await roundsOf({ service, floor })
  const partial: Record<string, Round> = { service: await partialLoad(service, sides.service) }
  if (database !== undefined)
    for (const nodes of NODES) {
      const name = nodes === 1 ? 'PostgreSQL, 1 node' : `PostgreSQL, ${nodes} nodes`
      using variant = await Variant.postgres(database, { nodes, warmUp: WARM_UP })
      // The service on SQLite runs beside it, so that both see the same machine.
      const both = await roundsOf({ [name]: variant, beside: service })
      sides[name] = both[name]
      sides[`SQLite beside ${name}`] = both.beside
      partial[name] = await partialLoad(variant, both[name])
    }
  return { rounds: sides, partial }
}

type RoundsByCase = Record<string, Round[]>

/** By variant and case. The variants take turns. */
async function roundsOf(
  variants: Readonly<Record<string, Variant>>,
): Promise<Record<string, RoundsByCase | undefined>> {
  const found: Record<string, RoundsByCase | undefined> = {}
  // The first round registers further phones and compiles what the case needs.
  for (const name of Object.keys(CASES))
    for (let round = -1; round < ROUNDS; round++)
      for (const [side, variant] of Object.entries(variants)) {
        const measured = await variant.round(CASES[name] as Work)
        if (round >= 0) ((found[side] ??= {})[name] ??= []).push(measured)
      }
  return found
}

async function partialLoad(variant: Variant, rounds: RoundsByCase = {}): Promise<Round> {
  const most = median((rounds.saturated ?? []).map((round) => round.lifecyclesPerSecond))
  return variant.round({ lifecycles: LIFECYCLES * ROUNDS, rate: PARTIAL_LOAD * most })
}
