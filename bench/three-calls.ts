import type { BOND_STEPS, BondTask } from './bond-load-process.ts'
import type { ClientAuthentication } from './ciba-clients.ts'
import type { CIBA_STEPS, CibaTask } from './ciba-load-process.ts'
import { Child, type Ready, type Usage } from './process.ts'

export const BOND: readonly (typeof BOND_STEPS)[number][] = [
  'create',
  'claim',
  'evidence',
  'attest',
  'get',
]
export const CIBA: readonly (typeof CIBA_STEPS)[number][] = ['create', 'approve', 'token']
/** The CPU time of each call, in microseconds a flow. */
export type Costs = Readonly<Record<string, number>>

const CALLERS = 16
/** The peer's in-memory adapter keeps the last thousand entries, and a flow creates four. */
export const FLOWS = 150

/** The cost of the three calls that a bond and a CIBA flow have in common. */
export function threeCalls({ create = 0, attest = 0, get = 0 }: Costs): number {
  return create + attest + get
}

/** The cost of all calls of a flow. */
export function allCalls(costs: Costs): number {
  return Object.values(costs).reduce((sum, cost) => sum + cost, 0)
}

/**
 * One server, and the process that sends it one call of many flows before the next call, so that
 * each call has its own figure.
 */
export class FlowsByCall implements Disposable {
  readonly #server: Child
  readonly #ready: Ready
  readonly #load: Child

  /** @param of.load the file of the load process */
  constructor(of: { readonly server: Child; readonly ready: Ready; readonly load: string }) {
    this.#server = of.server
    this.#ready = of.ready
    this.#load = new Child(of.load)
  }

  /** Runs `FLOWS` bonds. */
  async bond(): Promise<Costs> {
    const costs: Record<string, number> = {}
    for (const step of BOND)
      costs[step] = await this.#cost({
        ...this.#ready,
        step,
        flows: FLOWS,
        callers: CALLERS,
      } satisfies BondTask)
    return costs
  }

  /** Runs `FLOWS` CIBA flows of a client. */
  async ciba(client: ClientAuthentication): Promise<Costs> {
    const costs: Record<string, number> = {}
    for (const step of CIBA)
      costs[step] = await this.#cost({
        ...this.#ready,
        step,
        client,
        flows: FLOWS,
        callers: CALLERS,
      } satisfies CibaTask)
    return costs
  }

  [Symbol.dispose](): void {
    this.#load[Symbol.dispose]()
  }

  async #cost(task: object): Promise<number> {
    const before = await this.#server.ask<Usage>({})
    await this.#load.ask(task)
    const after = await this.#server.ask<Usage>({})
    return (after.cpuMicros - before.cpuMicros) / FLOWS
  }
}
