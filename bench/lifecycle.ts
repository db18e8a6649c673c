import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import { Child, median, type Ready } from './process.ts'
import type { FloorSetup, Task } from './load-process.ts'

/**
 * Measures the server CPU microseconds of a full lifecycle (create, channel open, claim, evidence,
 * attest, frame received, get, complete; durable), and of the floor in the same run. The load
 * generator runs in its own process, so its CPU is not in the figures. `--json` prints one
 * document.
 */
const CALLERS = 16
/** V8 keeps compiling for thousands of lifecycles. The benchmark measures the rounds after that. */
const WARM_UP = 6_000
const LIFECYCLES = Number(process.env.BENCH_LIFECYCLES ?? 300)
/** Many short rounds alternate, so that a temporary slowdown of the machine affects both. */
const ROUNDS = 25

using service = new Child('service-process.ts', RUNTIME_FLAGS)
const ready = await service.next<Ready>()
using floor = new Child('floor-process.ts')
const floorReady = await floor.next<Ready>()
using load = new Child('load-process.ts')
using floorLoad = new Child('load-process.ts')

const serviceTask: Task = { ...ready, lifecycles: WARM_UP, callers: CALLERS, floor: false }
const setup = await load.ask<FloorSetup>(serviceTask)
await floor.ask({ answers: setup.answers })
const floorTask: Task = { ...floorReady, lifecycles: WARM_UP, callers: CALLERS, floor: true }
const floorSetup = await floorLoad.ask<FloorSetup>(floorTask)
await floor.ask({ publicKey: floorSetup.publicKey })
await floorLoad.ask<FloorSetup>(floorTask)

const rounds: { service: number; floor: number }[] = []
for (let round = 0; round < ROUNDS; round++) {
  rounds.push({
    service: await measure(service, load, serviceTask),
    floor: await measure(floor, floorLoad, floorTask),
  })
}

const figures = {
  callers: CALLERS,
  lifecycles_a_round: LIFECYCLES,
  rounds: ROUNDS,
  service_us: Math.round(median(rounds.map((round) => round.service))),
  floor_us: Math.round(median(rounds.map((round) => round.floor))),
  ratio: Math.round(median(rounds.map((round) => round.service / round.floor)) * 100) / 100,
}
if (process.argv.includes('--json')) console.log(JSON.stringify({ ...figures, all: rounds }))
else {
  console.log(
    `server CPU a lifecycle, median of ${ROUNDS} rounds of ${LIFECYCLES} at ${CALLERS} callers`,
  )
  console.log(`  service ${figures.service_us} µs`)
  console.log(
    `  floor   ${figures.floor_us} µs   (bare node:http + ws, two P-256 verifications, five committed writes, five frames)`,
  )
  console.log(
    `  ratio   ${figures.ratio}     (median of the rounds' ratios; ${rounds.map((round) => (round.service / round.floor).toFixed(2)).join(', ')})`,
  )
}

async function measure(server: Child, generator: Child, task: Task): Promise<number> {
  const before = await server.ask<{ cpuMicros: number }>({})
  await generator.ask({ ...task, lifecycles: LIFECYCLES })
  const after = await server.ask<{ cpuMicros: number }>({})
  return (after.cpuMicros - before.cpuMicros) / LIFECYCLES
}
