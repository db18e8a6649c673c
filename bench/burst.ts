import { setTimeout as wait } from 'node:timers/promises'
import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import type { BurstTask, BurstWindow } from './burst-load-process.ts'
import type { TrustedIssuers } from './burst-service-process.ts'
import { Child, median, percentile, type Ready, sharedNowMs } from './process.ts'
import type { Latencies, SteadyTask } from './steady-load-process.ts'

/**
 * Measures how long other requests take while many phones register and present passports at once,
 * compared with the same requests without a burst. The service, the steady load and the burst run
 * in their own processes. The load processes build all requests in advance. Both windows of a round
 * are equally long, so that their percentiles cover equally many calls. `--json` prints one
 * document.
 */
const REGISTRATIONS = Number(process.env.BENCH_REGISTRATIONS ?? 50)
const PASSPORTS = Number(process.env.BENCH_PASSPORTS ?? 20)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 25)
/**
 * The first bursts start the workers and load the attestation verifiers. Later bursts run compiled
 * code.
 */
const WARM_UP_ROUNDS = 5
const EVERY_MS = 4
const PAUSE_MS = 300
/** The minimum length of an idle window. */
const MIN_WINDOW_MS = 200
const TARGET_RATIO = 2

using crowd = new Child('burst-load-process.ts')
const burst = <Outcome>(task: BurstTask) => crowd.ask<Outcome>(task)
using service = new Child('burst-service-process.ts', RUNTIME_FLAGS)
const ready = await service.ask<Ready>(await burst<TrustedIssuers>({ step: 'issuers' }))
using others = new Child('steady-load-process.ts')
const steady = (task: SteadyTask) => others.ask<Latencies>(task)
await steady({ step: 'begin', service: ready, everyMs: EVERY_MS })

interface Round {
  readonly burstMs: number
  readonly idle: readonly number[]
  readonly burst: readonly number[]
}
const rounds: Round[] = []
let windowMs = MIN_WINDOW_MS
for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
  await burst({
    step: 'prepare',
    service: ready,
    registrations: REGISTRATIONS,
    passports: PASSPORTS,
  })
  await wait(PAUSE_MS)
  const fromMs = sharedNowMs()
  await wait(windowMs)
  const idle = await steady({ step: 'report', fromMs, untilMs: fromMs + windowMs })
  const window = await burst<BurstWindow>({ step: 'send' })
  const during = await steady({ step: 'report', ...window })
  windowMs = Math.max(MIN_WINDOW_MS, window.untilMs - window.fromMs)
  if (round >= 0)
    rounds.push({ burstMs: window.untilMs - window.fromMs, idle: idle.ms, burst: during.ms })
}

const all = {
  idle: rounds.flatMap(({ idle }) => idle),
  burst: rounds.flatMap(({ burst: ms }) => ms),
}
const figures = {
  rounds: ROUNDS,
  registrations: REGISTRATIONS,
  passports: PASSPORTS,
  burst_ms: median(rounds.map(({ burstMs }) => burstMs)),
  calls_a_window: median(rounds.map(({ burst: ms }) => ms.length)),
  idle: {
    p50_ms: ofRounds('idle', 0.5),
    p99_ms: ofRounds('idle', 0.99),
    p99_of_all_ms: percentile(all.idle, 0.99),
  },
  burst: {
    p50_ms: ofRounds('burst', 0.5),
    p99_ms: ofRounds('burst', 0.99),
    p99_of_all_ms: percentile(all.burst, 0.99),
  },
  ratio: median(
    rounds.map((round) => percentile(round.burst, 0.99) / percentile(round.idle, 0.99)),
  ),
  ratio_of_all: percentile(all.burst, 0.99) / percentile(all.idle, 0.99),
  target: TARGET_RATIO,
}
if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
else {
  const ms = (figure: number) => `${figure.toFixed(2).padStart(7)} ms`
  console.log(
    `other requests, one every ${EVERY_MS} ms; medians of ${ROUNDS} rounds of ${figures.calls_a_window} calls, and the p99 of all rounds' calls`,
  )
  for (const phase of ['idle', 'burst'] as const) {
    const { p50_ms, p99_ms, p99_of_all_ms } = figures[phase]
    console.log(
      `  ${phase.padEnd(6)} p50 ${ms(p50_ms)}   p99 ${ms(p99_ms)}   p99 of all ${ms(p99_of_all_ms)}`,
    )
  }
  console.log(
    `  ratio  p99 ${figures.ratio.toFixed(2)} (of all ${figures.ratio_of_all.toFixed(2)}), target ${TARGET_RATIO}${figures.ratio > TARGET_RATIO ? '   OVER' : ''}`,
  )
  console.log(
    `  a burst of ${REGISTRATIONS} registrations and ${PASSPORTS} passports took ${figures.burst_ms.toFixed(0)} ms`,
  )
}

function ofRounds(phase: 'idle' | 'burst', part: number): number {
  return median(rounds.map((round) => percentile(round[phase], part)))
}
