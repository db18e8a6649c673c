import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import type { Latency, Load, Task } from './load-process.ts'
import type { BenchPostgres } from './postgres-nodes.ts'
import { Child, type Ready, type Usage } from './process.ts'

/** How the lifecycles of one round are sent. */
export type Work = Pick<Task, 'lifecycles' | 'rate'>

/** The cost and the times of one round. */
export interface Round {
  /** CPU microseconds of the server processes, per lifecycle. */
  readonly cpuMicros: number
  /** The same of the database server; undefined if the database is in the server process. */
  readonly databaseMicros: number | undefined
  readonly lifecyclesPerSecond: number
  /** Calls that the service shed. */
  readonly shed: number
  readonly latencies: Readonly<Record<string, Latency>>
}

export const CALLERS = 16

/**
 * Servers in fresh processes, with their own load process, so that the load is not in the figures.
 */
export class Variant implements Disposable {
  readonly servers: readonly Child[]
  /** Of the first server. */
  readonly ready: Ready
  readonly #load = new Child('load-process.ts')
  readonly #database: BenchPostgres | undefined
  readonly #task: Omit<Task, 'lifecycles'>

  private constructor(of: {
    servers: readonly Child[]
    ready: readonly Ready[]
    floor: boolean
    database?: BenchPostgres
  }) {
    const { servers, ready, floor, database } = of
    const [first] = ready as readonly [Ready, ...Ready[]]
    this.servers = servers
    this.ready = first
    this.#database = database
    this.#task = {
      ports: ready.map(({ port }) => port),
      credential: first.credential,
      callers: CALLERS,
      floor,
    }
  }

  /**
   * The service on its own SQLite file.
   *
   * @param warmUp how many lifecycles it has then served: V8 keeps compiling for thousands
   * @returns it, with the responses for the floor
   */
  static async service(warmUp: number): Promise<{ variant: Variant; lesson: Load }> {
    const server = new Child('service-process.ts', RUNTIME_FLAGS)
    const ready = [await server.next<Ready>()]
    const variant = new Variant({ servers: [server], ready, floor: false })
    return { variant, lesson: await variant.#send({ lifecycles: warmUp }) }
  }

  /** The floor, which replays the responses of the service. */
  static async floor({ responses }: Load, warmUp: number): Promise<Variant> {
    const server = new Child('floor-process.ts')
    const ready = [await server.next<Ready>()]
    const floor = new Variant({ servers: [server], ready, floor: true })
    await server.ask<Usage>({ responses })
    const { publicKey } = await floor.#send({ lifecycles: CALLERS })
    await server.ask<Usage>({ publicKey })
    await floor.#send({ lifecycles: warmUp })
    return floor
  }

  /** Nodes of the service on a new PostgreSQL database. Each call goes to the next node. */
  static async postgres(
    database: BenchPostgres,
    { nodes, warmUp }: { nodes: number; warmUp: number },
  ): Promise<Variant> {
    const servers: Child[] = []
    const ready: Ready[] = []
    // One after the other: the first one creates the schema and the tenant.
    for (const environment of await database.environments(nodes)) {
      const server = new Child('service-process.ts', RUNTIME_FLAGS, environment)
      servers.push(server)
      ready.push(await server.next<Ready>())
    }
    const variant = new Variant({ servers, ready, floor: false, database })
    await variant.#send({ lifecycles: warmUp * nodes })
    return variant
  }

  /** Sends one round and measures it. */
  async round(work: Work): Promise<Round> {
    const before = await this.#cpuMicros()
    const { seconds, latencies, shed } = await this.#send(work)
    const after = await this.#cpuMicros()
    const perLifecycle = (figure: 'servers' | 'database') =>
      (after[figure] - before[figure]) / work.lifecycles
    return {
      cpuMicros: perLifecycle('servers'),
      databaseMicros: this.#database === undefined ? undefined : perLifecycle('database'),
      lifecyclesPerSecond: work.lifecycles / seconds,
      shed,
      latencies,
    }
  }

  async #cpuMicros(): Promise<{ servers: number; database: number }> {
    const usages = await Promise.all(this.servers.map((server) => server.ask<Usage>({})))
    return {
      servers: usages.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
      database: this.#database?.cpuMicros() ?? 0,
    }
  }

  #send(work: Work): Promise<Load> {
    return this.#load.ask<Load>({ ...this.#task, ...work } satisfies Task)
  }

  [Symbol.dispose](): void {
    this.#load[Symbol.dispose]()
    for (const server of this.servers) server[Symbol.dispose]()
  }
}
