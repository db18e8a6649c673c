import { setTimeout as wait } from 'node:timers/promises'
import type { ClusterNode } from '../../packages/service/tests/harness/cluster.ts'
import { choose, random } from '../pressure/chance.ts'

/** Between two faults, so that a restarted node also works for a while. */
const FAULT_AFTER_MS = { least: 1_000, spread: 3_000 } as const
const FAULT_LASTS_MS = 400

type Fault = (node: ClusterNode) => Promise<void>

const killed: Fault = async (node) => {
  await node.kill()
  await node.restart()
}
const proxied =
  (fault: 'cut' | 'refuse' | 'stall' | 'deafen'): Fault =>
  async ({ proxy }) => {
    proxy?.[fault]()
    await wait(FAULT_LASTS_MS)
    // A stalled connection that has waited this long may also end.
    if (random(2) === 0) proxy?.cut()
    proxy?.restore()
  }
const paused: Fault = async (node) => {
  node.pause()
  await wait(FAULT_LASTS_MS)
  node.resume()
}
const FAULTS = {
  killed,
  cut: proxied('cut'),
  refused: proxied('refuse'),
  stalled: proxied('stall'),
  deafened: proxied('deafen'),
  paused,
} as const
type FaultName = keyof typeof FAULTS
/** The faults of the connection to the database are cheap; a new process is not. */
const DRAWN = Object.keys(FAULTS) as readonly FaultName[]

/**
 * Breaks one node after the other until `signal` is aborted, and resolves when the last one works
 * again. Begins with a kill.
 *
 * @returns how often each fault happened
 */
export async function breakNodes(
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<Partial<Record<FaultName, number>>> {
  const counts: Partial<Record<FaultName, number>> = {}
  let name: FaultName = 'killed'
  while (!signal.aborted) {
    const pauseMs = FAULT_AFTER_MS.least + random(FAULT_AFTER_MS.spread)
    await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) break
    counts[name] = (counts[name] ?? 0) + 1
    await FAULTS[name](choose(nodes))
    name = random(3) === 0 ? 'killed' : choose(DRAWN)
  }
  return counts
}
