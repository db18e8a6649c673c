import type { Latency } from './load-process.ts'
import { median } from './process.ts'
import { CALLERS, type Round } from './variant.ts'

/** The measurements of one fresh process of each variant. */
export interface Pair {
  /** By variant and case. `service` is the service on SQLite. */
  readonly rounds: Readonly<Record<string, Readonly<Record<string, readonly Round[]>> | undefined>>
  /** By variant: at 60 % of the lifecycles per second of saturation. */
  readonly partial: Readonly<Record<string, Round>>
}

/** The sizes of a run. */
interface Sizes {
  readonly pairs: number
  readonly rounds: number
  readonly lifecycles: number
}

export type Report = ReturnType<typeof reportOf>

/** A guard, not a goal: the pairs of one run were between 1.99 and 2.18. */
const MAX_SATURATED_RATIO = 2.6

/** Why the price of a saturated lifecycle on SQLite fails the benchmark, if it does. */
export function tooExpensive({ cases }: Pick<Report, 'cases'>): string | undefined {
  const ratio = cases.find((one) => one.case === 'saturated')?.ratio ?? Number.NaN
  return ratio <= MAX_SATURATED_RATIO
    ? undefined
    : `a saturated lifecycle costs ${ratio.toFixed(2)} times the floor, more than ${MAX_SATURATED_RATIO}`
}

/** The medians of all pairs. */
export function reportOf(pairs: readonly Pair[], sizes: Sizes) {
  const [first] = pairs
  const middle = (figure: (pair: Pair) => number) => Math.round(median(pairs.map(figure)))
  const ratios = (figure: (pair: Pair) => number) => pairs.map((pair) => hundredths(figure(pair)))
  const micros = (pair: Pair, variant: string, name: string) =>
    microsOf(pair.rounds[variant]?.[name])
  const postgres = Object.keys(first?.partial ?? {}).filter((name) => name !== 'service')
  return {
    callers: CALLERS,
    ...sizes,
    cases: Object.keys(first?.rounds.service ?? {}).map((name) => {
      const all = ratios((pair) => micros(pair, 'service', name) / micros(pair, 'floor', name))
      return {
        case: name,
        service_us: middle((pair) => micros(pair, 'service', name)),
        floor_us: middle((pair) => micros(pair, 'floor', name)),
        ratio: median(all),
        ratios: all,
      }
    }),
    postgres: postgres.flatMap((variant) =>
      Object.keys(first?.rounds[variant] ?? {}).map((name) => {
        const beside = (pair: Pair) => micros(pair, `SQLite beside ${variant}`, name)
        const all = ratios((pair) => micros(pair, variant, name) / beside(pair))
        return {
          variant,
          case: name,
          nodes_us: middle((pair) => micros(pair, variant, name)),
          database_us: middle((pair) => databaseMicrosOf(pair.rounds[variant]?.[name])),
          sqlite_us: middle(beside),
          ratio: median(all),
          ratios: all,
        }
      }),
    ),
    shed_calls: shedCalls(pairs),
    milliseconds: Object.fromEntries(
      ['service', ...postgres].map((variant) => [
        variant === 'service' ? 'SQLite' : variant,
        {
          'at 60 %': latencies(pairs.flatMap(({ partial }) => partial[variant] ?? [])),
          saturated: latencies(pairs.flatMap(({ rounds }) => rounds[variant]?.saturated ?? [])),
        },
      ]),
    ),
  }
}

/** Prints a report for people. */
export function printReport(report: Report): void {
  const { pairs, rounds, lifecycles, cases, postgres, milliseconds } = report
  const line = (name: string, text: string, all: readonly number[]) =>
    console.log(`  ${name.padEnd(34)} ${text}   (pairs: ${all.join(', ')})`)
  console.log(
    `CPU in µs, medians of ${pairs} pairs of fresh processes, ${rounds} rounds of ${lifecycles} lifecycles each; saturated by ${report.callers} callers`,
  )
  for (const { case: name, service_us, floor_us, ratio, ratios } of cases)
    line(name, `service ${service_us}, floor ${floor_us}: ${ratio.toFixed(2)}`, ratios)
  console.log('  floor: bare node:http + ws, two P-256 verifications, five commits, five frames')
  for (const { variant, case: name, nodes_us, database_us, sqlite_us, ratio, ratios } of postgres)
    line(
      `${variant}, ${name}`,
      `nodes ${nodes_us}, database ${database_us}, SQLite ${sqlite_us}: ${ratio.toFixed(2)}`,
      ratios,
    )
  for (const { where, calls } of report.shed_calls)
    console.log(
      `  shed and sent again, ${where}: ${calls} calls. This figure needs a quieter machine.`,
    )
  console.log('p50 / p99 of each call in ms')
  for (const [variant, loads] of Object.entries(milliseconds))
    for (const [load, calls] of Object.entries(loads))
      console.log(
        `  ${`${variant}, ${load}`.padEnd(34)} ${Object.entries(calls)
          .map(([call, { p50, p99 }]) => `${call} ${p50} / ${p99}`)
          .join(', ')}`,
      )
}

/** Where the service has shed calls, and how many. Their figures mean little. */
function shedCalls(pairs: readonly Pair[]): { readonly where: string; readonly calls: number }[] {
  const rounds = pairs.flatMap((pair) => [
    ...Object.entries(pair.rounds).flatMap(([variant, byCase]) =>
      Object.entries(byCase ?? {}).map(([name, all]) => ({ where: `${variant}, ${name}`, all })),
    ),
    ...Object.entries(pair.partial).map(([variant, one]) => ({
      where: `${variant}, at 60 %`,
      all: [one],
    })),
  ])
  const calls = new Map<string, number>()
  for (const { where, all } of rounds)
    for (const { shed } of all) calls.set(where, (calls.get(where) ?? 0) + shed)
  return [...calls]
    .filter(([, count]) => count > 0)
    .map(([where, count]) => ({ where, calls: count }))
}

function microsOf(rounds: readonly Round[] = []): number {
  return median(rounds.map(({ cpuMicros }) => cpuMicros))
}

function databaseMicrosOf(rounds: readonly Round[] = []): number {
  return median(rounds.map(({ databaseMicros = Number.NaN }) => databaseMicros))
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
