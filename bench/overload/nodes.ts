import { RUNTIME_FLAGS } from '../../packages/service/bin/runtime-flags.js'
import type { BenchReady } from '../bench-service.ts'
import { PeakMemory } from '../flood/peak-memory.ts'
import { BenchPostgres } from '../postgres-nodes.ts'
import { Child, type Usage } from '../process.ts'
import type { ServerMeasures } from './server-measures.ts'

const SAMPLE_MS = 1_000
const BYTES_A_MB = 1e6

/** The memory of a node during the run. */
export interface NodeMemory {
  /** Resident megabytes, the peak of each second. */
  readonly residentMb: readonly number[]
  /** Megabytes in use on V8's heap after each full collection. */
  readonly collectedMb: readonly number[]
  /** Megabytes at the end, by the parts of a Node process. */
  readonly atEndMb: Readonly<Record<string, number>>
}

/** The nodes under load, in processes of their own: one on SQLite, or several on PostgreSQL. */
export class Nodes implements AsyncDisposable {
  readonly #children: readonly Child[]
  readonly #database: BenchPostgres | undefined
  readonly ports: readonly number[]
  readonly tenants: BenchReady['tenants']

  private constructor(of: {
    children: readonly Child[]
    ready: readonly BenchReady[]
    database: BenchPostgres | undefined
  }) {
    this.#children = of.children
    this.#database = of.database
    this.ports = of.ready.map(({ port }) => port)
    this.tenants = of.ready[0]?.tenants ?? []
  }

  /** @param count how many nodes; with more than one they share a PostgreSQL database */
  static async start(count: number): Promise<Nodes> {
    const database = count > 1 ? await BenchPostgres.start() : undefined
    const children: Child[] = []
    const ready: BenchReady[] = []
    // One after the other: the first one creates the schema and the tenants.
    for (const environment of (await database?.environments(count)) ?? [{}]) {
      const child = new Child('overload/service-process.ts', RUNTIME_FLAGS, environment)
      children.push(child)
      ready.push(await child.next<BenchReady>())
    }
    return new Nodes({ children, ready, database })
  }

  /** Measures while the load runs. */
  async during(load: Promise<unknown>): Promise<readonly (ServerMeasures & NodeMemory)[]> {
    await Promise.all(this.#children.map((child) => child.ask<Usage>({})))
    const peaks = this.#children.map(({ pid }) => new PeakMemory(pid))
    const samples: number[][] = this.#children.map(() => [])
    for (const peak of peaks) peak.take()
    const sampler = setInterval(() => {
      for (const [node, peak] of peaks.entries()) samples[node]?.push(peak.take() / BYTES_A_MB)
    }, SAMPLE_MS)
    await load
    clearInterval(sampler)
    for (const peak of peaks) peak[Symbol.dispose]()
    return Promise.all(
      this.#children.map(async (child, node) => {
        const measures = await child.ask<Usage & ServerMeasures>({})
        return {
          ...measures,
          residentMb: samples[node] ?? [],
          collectedMb: measures.collected.map(([, bytes]) => bytes / BYTES_A_MB),
          atEndMb: Object.fromEntries(
            Object.entries(measures.memory).map(([part, bytes]) => [part, bytes / BYTES_A_MB]),
          ),
        }
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) child[Symbol.dispose]()
    await this.#database?.stop()
  }
}
