import { setTimeout as wait } from 'node:timers/promises'
import type { ClusterNode } from '../harness/cluster.ts'
import { choose, random } from '../pressure/chance.ts'

/** The pause between two faults, so that a restarted node also works for a while. */
const FAULT_AFTER_MS = { least: 1_000, spread: 3_000 } as const
/**
 * And this many sessions. A restarted node needs seconds of CPU time until it is as fast as before,
 * so on a busy machine the restarts would leave no time for sessions.
 */
const FAULT_AFTER_SESSIONS = 80
const POLL_MS = 50
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
  rejected: proxied('refuse'),
  stalled: proxied('stall'),
  deafened: proxied('deafen'),
  paused,
} as const
type FaultName = keyof typeof FAULTS
/** The faults of the connection to the database are cheap; a new process is not. */
const DRAWN = Object.keys(FAULTS) as readonly FaultName[]

/** How often each fault happened. */
export type FaultCounts = Partial<Record<FaultName, number>>

/**
 * Breaks one node after the other until `signal` is aborted, and resolves when the last one works
 * again. Begins with a kill.
 *
 * @param of.counts counts each fault
 * @param of.sessions how many sessions the nodes have served so far
 */
export async function breakNodes(
  nodes: readonly ClusterNode[],
  of: {
    readonly signal: AbortSignal
    readonly counts: FaultCounts
    readonly sessions: () => number
  },
): Promise<void> {
  const { signal, counts, sessions } = of
  let name: FaultName = 'killed'
  for (;;) {
    const next = sessions() + FAULT_AFTER_SESSIONS
    await passed(FAULT_AFTER_MS.least + random(FAULT_AFTER_MS.spread), signal)
    while (sessions() < next && !signal.aborted) await passed(POLL_MS, signal)
    if (signal.aborted) return
    counts[name] = (counts[name] ?? 0) + 1
    await FAULTS[name](choose(nodes))
    name = random(3) === 0 ? 'killed' : choose(DRAWN)
  }
}

/** Waits, but not beyond the end of the signal. */
const passed = (ms: number, signal: AbortSignal) =>
  wait(ms, undefined, { signal }).catch(() => undefined)
