import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import type { Latency, Load, Task } from './load-process.ts'
import { Child, type Ready, type Usage } from './process.ts'

/** How the lifecycles of one round are sent. */
export type Work = Pick<Task, 'lifecycles' | 'rate' | 'short'>

/** The cost and the times of one round. */
export interface Round {
  /** CPU microseconds of the server process, per lifecycle. */
  readonly cpuMicros: number
  readonly lifecyclesPerSecond: number
  readonly latencies: Readonly<Record<string, Latency>>
}

/** V8 keeps compiling for thousands of lifecycles. The benchmark measures the rounds after that. */
const WARM_UP = Number(process.env.BENCH_WARM_UP ?? 4_000)
export const CALLERS = 16

/** A server in a fresh process, with its own load process, so that the load is not in its figures. */
export class Variant implements Disposable {
  readonly server: Child
  readonly ready: Ready
  readonly #load: Child
  readonly #task: Omit<Task, 'lifecycles'>

  private constructor(of: { server: Child; ready: Ready; floor: boolean }) {
    const { server, ready, floor } = of
    this.server = server
    this.ready = ready
    this.#load = new Child('load-process.ts')
    this.#task = { ...ready, callers: CALLERS, floor }
  }

  /** The service on its own SQLite file. @returns it warm, with the responses for the floor */
  static async service(): Promise<{ variant: Variant; lesson: Load }> {
    const server = new Child('service-process.ts', RUNTIME_FLAGS)
    const variant = new Variant({ server, ready: await server.next<Ready>(), floor: false })
    return { variant, lesson: await variant.#send({ lifecycles: WARM_UP }) }
  }

  /** The floor, which replays the responses of the service. @returns it warm */
  static async floor({ answers }: Load): Promise<Variant> {
    const server = new Child('floor-process.ts')
    const floor = new Variant({ server, ready: await server.next<Ready>(), floor: true })
    await server.ask<Usage>({ answers })
    const { publicKey } = await floor.#send({ lifecycles: CALLERS })
    await server.ask<Usage>({ publicKey })
    await floor.#send({ lifecycles: WARM_UP })
    return floor
  }

  /** Sends one round and measures it. */
  async round(work: Work): Promise<Round> {
    const before = await this.server.ask<Usage>({})
    const { seconds, latencies } = await this.#send(work)
    const after = await this.server.ask<Usage>({})
    return {
      cpuMicros: (after.cpuMicros - before.cpuMicros) / work.lifecycles,
      lifecyclesPerSecond: work.lifecycles / seconds,
      latencies,
    }
  }

  #send(work: Work): Promise<Load> {
    return this.#load.ask<Load>({ ...this.#task, ...work } satisfies Task)
  }

  [Symbol.dispose](): void {
    this.#load[Symbol.dispose]()
    this.server[Symbol.dispose]()
  }
}
